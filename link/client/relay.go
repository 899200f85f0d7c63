package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"ferrule/link"
)

// Relay passes a ramdisk's request on to the API: method, path, query, headers
// and body go as they are, and a header that is absent stays absent. The caller
// closes the response's body. A request is not repeated: the ramdisk does that.
func (c *Client) Relay(ctx context.Context, from *http.Request) (*http.Response, error) {
	to := c.base + link.PathRelay + from.URL.EscapedPath()
	if from.URL.RawQuery != "" {
		to += "?" + from.URL.RawQuery
	}
	target, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("relay %s: %w", from.URL.Path, err)
	}
	request := (&http.Request{
		Method: from.Method, URL: target, Host: target.Host, Header: link.EndToEnd(from.Header),
		ContentLength: from.ContentLength,
	}).WithContext(ctx)
	if from.Host != "" {
		request.Header.Set(link.HeaderRelayHost, from.Host)
	}
	if from.Body != nil && from.ContentLength != 0 {
		// Closing the ramdisk's body is its server's affair.
		request.Body = io.NopCloser(http.MaxBytesReader(nil, from.Body, link.MaxRelayBody))
	}
	if _, there := request.Header["User-Agent"]; !there {
		request.Header["User-Agent"] = nil // keeps net/http from adding its own
	}
	response, err := c.http().Do(request)
	if err != nil {
		return nil, fmt.Errorf("relay %s to the control plane: %w", from.URL.Path, err)
	}
	return response, nil
}
