package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"ferrule/link"
	"ferrule/trust"
)

// callTimeout bounds one request that is not the session.
const callTimeout = 90 * time.Second

// newTransport is HTTP/2 over TLS, through a proxy where one is set, that
// notices a dead peer even when nothing is to be sent. Bodies and headers are
// let through as they are, for the relay's sake.
func newTransport(config *tls.Config, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 15 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		IdleConnTimeout:     2 * time.Minute,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second, WriteByteTimeout: 30 * time.Second,
		},
	}
}

// exchange posts a JSON document and reads one.
func exchange(ctx context.Context, hc *http.Client, to string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := post(ctx, hc, to, link.TypeJSON, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// post sends one body. An answer that is no success is a *Rejected.
func post(ctx context.Context, hc *http.Client, to, contentType string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	response, err := hc.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return nil, rejection(response)
	}
	return io.ReadAll(io.LimitReader(response.Body, link.MaxBody))
}

// Rejected is an answer of the control plane that is no success.
type Rejected struct {
	Status  int
	Code    trust.RefusalCode
	Message string
	Date    string // the control plane's clock, as an HTTP date
}

// Error is the control plane's message.
func (r *Rejected) Error() string {
	return fmt.Sprintf("the control plane answered %d (%s): %s", r.Status, r.Code, r.Message)
}

// final reports whether asking again would change nothing.
func (r *Rejected) final() bool {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return r.Code == trust.RefusedRevoked
	}
	return r.Status/100 == 4
}

func isFinal(err error) bool {
	var r *Rejected
	return errors.As(err, &r) && r.final()
}

func rejection(response *http.Response) error {
	r := &Rejected{Status: response.StatusCode, Message: http.StatusText(response.StatusCode), Date: response.Header.Get("Date")}
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	var problem link.Problem
	if err == nil && json.Unmarshal(text, &problem) == nil && problem.Message != "" {
		r.Code, r.Message = problem.Code, problem.Message
	}
	return r
}
