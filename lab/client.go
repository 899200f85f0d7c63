package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"ferrule/lab/event"
)

// Client is the other side of the control API, for a process that watches a
// lab run elsewhere.
type Client struct {
	base string
	http *http.Client
}

// NewClient is a client of the control API at base.
func NewClient(base string) *Client {
	return &Client{base: base, http: &http.Client{Timeout: longestWait + 10*time.Second}}
}

// Close lets go of open connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Servers is every server's snapshot.
func (c *Client) Servers(ctx context.Context) ([]Snapshot, error) {
	var list struct {
		Servers []Snapshot `json:"servers"`
	}
	return list.Servers, c.call(ctx, http.MethodGet, "/servers", nil, &list)
}

// Server is one server's snapshot.
func (c *Client) Server(ctx context.Context, name string) (Snapshot, error) {
	var s Snapshot
	return s, c.call(ctx, http.MethodGet, "/servers/"+url.PathEscape(name), nil, &s)
}

// Events is what happened to a server after number since; with none yet it
// waits for one, for up to a minute.
func (c *Client) Events(ctx context.Context, name string, since uint64, wait time.Duration) ([]event.Event, error) {
	var list struct {
		Events []event.Event `json:"events"`
	}
	path := fmt.Sprintf("/servers/%s/events?since=%d&wait=%d", url.PathEscape(name), since, int(wait.Seconds()))
	return list.Events, c.call(ctx, http.MethodGet, path, nil, &list)
}

// SetFaults replaces what is wrong with a server.
func (c *Client) SetFaults(ctx context.Context, name string, f ServerFaults) error {
	return c.call(ctx, http.MethodPost, "/servers/"+url.PathEscape(name)+"/faults", f, nil)
}

// Press changes the power at the server itself.
func (c *Client) Press(ctx context.Context, name, action string) error {
	return c.call(ctx, http.MethodPost, "/servers/"+url.PathEscape(name)+"/power", PowerRequest{action}, nil)
}

// Reset makes a server what it was at the start.
func (c *Client) Reset(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodPost, "/servers/"+url.PathEscape(name)+"/reset", nil, nil)
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("asking the lab: %w", err)
		}
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return fmt.Errorf("asking the lab: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("asking the lab: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("asking the lab: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("asking the lab: %s %s answered %d: %s", method, path, resp.StatusCode, bytes.TrimSpace(answer))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("asking the lab: %w", err)
	}
	return nil
}
