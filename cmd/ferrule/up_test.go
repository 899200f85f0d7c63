package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// started is a control plane in this process, which serves until the test ends.
func started(t *testing.T, set ...string) (p *plane, group *errgroup.Group, ctx context.Context) {
	t.Helper()
	cfg, err := sources{Data: t.TempDir(), Listen: "127.0.0.1:0", Set: set}.load()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p, err = openPlane(ctx, cfg, parts{api: true, conductor: true})
	if err != nil {
		t.Fatal(err)
	}
	group, ctx = errgroup.WithContext(ctx)
	group.Go(func() error { return p.serve(ctx) })
	t.Cleanup(func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p, group, ctx
}

func call(t *testing.T, client *http.Client, method, url, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// A node that is created as soon as /readyz says so is taken.
func TestReadyIsSaidWhenTheEmbeddedAgentIsOnLine(t *testing.T) {
	p, group, ctx := started(t)
	p.ownAgent.Store(true)
	status, body := call(t, http.DefaultClient, http.MethodGet, p.endpoint()+"/readyz", "")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "redfish cannot be used") {
		t.Errorf("without the agent: %d %s", status, body)
	}
	group.Go(func() error { return p.embeddedAgent(ctx) })
	deadline := time.Now().Add(30 * time.Second)
	for status != http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatalf("still not ready: %s", body)
		}
		status, body = call(t, http.DefaultClient, http.MethodGet, p.endpoint()+"/readyz", "")
	}
	node := `{"driver": "redfish", "driver_info": {"redfish_address": "https://127.0.0.9"}}`
	if status, body := call(t, http.DefaultClient, http.MethodPost, p.endpoint()+"/v1/nodes", node); status != http.StatusCreated {
		t.Errorf("a node created at once: %d %s", status, body)
	}
}
