package lab_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrule/lab/iso"
)

const nodeUUID = "5d3b3f4e-2f0c-4a52-9a37-0d7c1c3f0001"

// plane is a control plane reduced to what a ramdisk talks to, scripted by a
// test.
type plane struct {
	*httptest.Server
	t       *testing.T
	token   string
	version string // the newest API version offered

	mu         sync.Mutex
	files      map[string][]byte
	agentURL   string
	agentCA    string
	heartbeats int
	inspection map[string]any
	versions   map[string]string // version header by call
	refuse     map[string][]int  // statuses still to answer, by call
	changed    chan struct{}
}

func newPlane(t *testing.T) *plane {
	p := &plane{
		t: t, token: rand.Text() + rand.Text(), version: "1.109",
		files: map[string][]byte{}, versions: map[string]string{}, refuse: map[string][]int{},
		changed: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.root)
	mux.HandleFunc("GET /v1/lookup", p.lookup)
	mux.HandleFunc("POST /v1/heartbeat/{uuid}", p.heartbeat)
	mux.HandleFunc("POST /v1/continue_inspection", p.continueInspection)
	mux.HandleFunc("GET /files/{name}", p.file)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Server.Close)
	return p
}

// note records a call and answers it with a refusal where one is due.
func (p *plane) note(w http.ResponseWriter, r *http.Request, call string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.versions[call] = r.Header.Get("X-OpenStack-Ironic-API-Version")
	close(p.changed)
	p.changed = make(chan struct{})
	if due := p.refuse[call]; len(due) > 0 {
		p.refuse[call] = due[1:]
		w.WriteHeader(due[0])
		return false
	}
	return true
}

func (p *plane) root(w http.ResponseWriter, r *http.Request) {
	if p.note(w, r, "root") {
		fmt.Fprintf(w, `{"default_version":{"id":"v1","version":%q,"min_version":"1.1"}}`, p.version)
	}
}

func (p *plane) lookup(w http.ResponseWriter, r *http.Request) {
	if p.note(w, r, "lookup") {
		fmt.Fprintf(w, `{"node":{"uuid":%q},"config":{"heartbeat_timeout":300,"agent_token":"******","agent_token_required":true}}`, nodeUUID)
	}
}

func (p *plane) heartbeat(w http.ResponseWriter, r *http.Request) {
	var body struct {
		URL   string `json:"callback_url"`
		Token string `json:"agent_token"`
		CA    string `json:"agent_verify_ca"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Token != p.token || r.PathValue("uuid") != nodeUUID {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.agentURL, p.agentCA = body.URL, body.CA
	p.heartbeats++
	p.mu.Unlock()
	if p.note(w, r, "heartbeat") {
		w.WriteHeader(http.StatusAccepted)
	}
}

func (p *plane) continueInspection(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if !p.note(w, r, "inspection") {
		return
	}
	p.mu.Lock()
	p.inspection = body
	p.mu.Unlock()
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, `{"uuid":%q}`, nodeUUID)
}

func (p *plane) file(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	content, ok := p.files[r.PathValue("name")]
	p.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(content)
}

func (p *plane) publish(name string, content []byte) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[name] = content
	return p.URL + "/files/" + name
}

// bootISO publishes a medium whose ramdisk serves the plane's node.
func (p *plane) bootISO(more ...string) string {
	p.t.Helper()
	words := append([]string{
		"nofb", "vga=normal", "ipa-api-url=" + p.URL, "ipa-agent-token=" + p.token, "boot_method=vmedia",
	}, more...)
	return p.iso(strings.Join(words, " "), nil)
}

func (p *plane) iso(line string, files map[string][]byte) string {
	p.t.Helper()
	content, err := iso.BootISO(line, files)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.publish("boot.iso", content)
}

// await waits until a look at the plane's state says yes.
func (p *plane) await(what string, yes func() bool) {
	p.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		changed, done := p.changed, yes()
		p.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.t.Fatalf("waited too long for %s", what)
		}
	}
}

type agentCommand struct {
	ID     string         `json:"id"`
	Name   string         `json:"command_name"`
	Status string         `json:"command_status"`
	Error  map[string]any `json:"command_error"`
	Result map[string]any `json:"command_result"`
}

// agent is the ramdisk that sent the last heartbeat, seen as the conductor
// sees it.
type agent struct {
	t      *testing.T
	url    string
	token  string
	client *http.Client
}

func (p *plane) agent() *agent {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	transport := &http.Transport{DisableKeepAlives: true}
	if p.agentCA != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(p.agentCA)) {
			p.t.Fatal("agent_verify_ca holds no certificate")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	}
	return &agent{p.t, p.agentURL, p.token, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

func (a *agent) request(method, path string, query url.Values, body any) (int, []byte) {
	a.t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, a.url+path+"?"+query.Encode(), bytes.NewReader(content))
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// run sends a command and waits for its end.
func (a *agent) run(name string, params map[string]any) agentCommand {
	a.t.Helper()
	query := url.Values{"wait": {"true"}, "agent_token": {a.token}}
	status, body := a.request(http.MethodPost, "/v1/commands/", query, map[string]any{"name": name, "params": params})
	if status != http.StatusOK {
		a.t.Fatalf("%s answered %d: %s", name, status, body)
	}
	var c agentCommand
	if err := json.Unmarshal(body, &c); err != nil {
		a.t.Fatal(err)
	}
	return c
}

// succeed runs a command that must not fail.
func (a *agent) succeed(name string, params map[string]any) agentCommand {
	a.t.Helper()
	c := a.run(name, params)
	if c.Status != "SUCCEEDED" {
		a.t.Fatalf("%s: %s, %v", name, c.Status, c.Error)
	}
	return c
}

func step(name string, args map[string]any) map[string]any {
	s := map[string]any{"step": name, "interface": "deploy"}
	if args != nil {
		s["args"] = args
	}
	return map[string]any{"step": s, "node": map[string]any{"uuid": nodeUUID}, "ports": []any{}}
}

func (a *agent) query() url.Values { return url.Values{"agent_token": {a.token}} }
