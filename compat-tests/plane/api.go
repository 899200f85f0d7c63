package plane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Version is the microversion that Call asks for.
const Version = "1.115"

// Answer is what the API answered.
type Answer struct {
	Status int
	Header http.Header
	Body   map[string]any // nil where the body is no JSON object
	Text   string
}

// client keeps no connection: a server that is killed leaves none behind, and a
// leak check sees none.
var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

// Call sends one request to the API. A body that is not nil goes as JSON. It
// fails the test only where there is no answer at all.
func (p *Plane) Call(method, path string, body any) Answer {
	p.t.Helper()
	a, err := p.Try(p.t.Context(), method, path, body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// Must is Call where anything but success fails the test; it gives the body.
func (p *Plane) Must(method, path string, body any) map[string]any {
	p.t.Helper()
	a := p.Call(method, path, body)
	if a.Status/100 != 2 {
		p.t.Fatalf("%s %s: %d %s", method, path, a.Status, a.Text)
	}
	return a.Body
}

// Try is Call where no answer is an error and not the end of the test. It may be
// used in any goroutine. Further headers are "Name: value".
func (p *Plane) Try(ctx context.Context, method, path string, body any, headers ...string) (Answer, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return Answer{}, err
		}
		content = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, p.URL+path, content)
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("X-OpenStack-Ironic-API-Version", Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: response.StatusCode, Header: response.Header, Text: string(text)}
	if strings.HasPrefix(a.Text, "{") {
		if err := json.Unmarshal(text, &a.Body); err != nil {
			return Answer{}, fmt.Errorf("the answer is no JSON: %w", err)
		}
	}
	return a, nil
}

// Provision asks for a change of a node's provision state; more is put in the
// body beside the target.
func (p *Plane) Provision(node, target string, more map[string]any) {
	p.t.Helper()
	body := map[string]any{"target": target}
	for key, value := range more {
		body[key] = value
	}
	p.Must(http.MethodPut, "/v1/nodes/"+node+"/states/provision", body)
}

// AwaitState waits until the node is in the provision state, at most for limit,
// and gives the node. A node that comes to rest with an error fails the test.
func (p *Plane) AwaitState(node, state string, limit time.Duration) map[string]any {
	p.t.Helper()
	return p.Await(node, state, limit, func(n map[string]any) bool { return n["provision_state"] == state })
}

// Await waits until yes says so of the node, at most for limit, and gives the
// node. A node that comes to rest with an error fails the test.
func (p *Plane) Await(node, what string, limit time.Duration, yes func(node map[string]any) bool) map[string]any {
	p.t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	late := time.After(limit)
	for {
		n := p.Must(http.MethodGet, "/v1/nodes/"+node, nil)
		switch failed := n["last_error"] != nil && n["target_provision_state"] == nil; {
		case yes(n):
			return n
		case failed && n["reservation"] == nil:
			p.t.Fatalf("waiting for %s: the node is %v: %v", what, n["provision_state"], n["last_error"])
		}
		select {
		case <-late:
			p.t.Fatalf("waiting for %s took more than %s: the node is %v, towards %v, power %v, last error %v",
				what, limit, n["provision_state"], n["target_provision_state"], n["power_state"], n["last_error"])
		case <-look.C:
		}
	}
}
