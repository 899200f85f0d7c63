package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	v1 "ferrule/api/v1"
	"ferrule/config"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
	"ferrule/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agent answers every command with the same result, and keeps what was asked.
type agent struct {
	asked  []metal.Request
	result metal.CommandResult
	err    error
	during func() // what happens while it works; nil: nothing
}

func (a *agent) Do(ctx context.Context, _ *metal.Node, req metal.Request) (metal.CommandResult, error) {
	if store.InUnit(ctx) {
		return a.result, errors.New("nobody sees a command of a transaction that waits for its result")
	}
	a.asked = append(a.asked, req)
	if a.during != nil {
		a.during()
	}
	return a.result, a.err
}

// served is an API on a database of its own, with conductors for group "" and
// no worker behind it.
type served struct {
	t      testing.TB
	store  *store.Store
	api    *Server
	config *config.Config
	agent  *agent
	sealer v1.Sealer
	log    *logTo
	file   string
}

func serve(t testing.TB, set ...string) *served {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ferrule.db")
	s := serveStore(t, storetest.Open(t, "sqlite://"+file), set...)
	s.file = file
	return s
}

// serveStore is an API on this database.
func serveStore(t testing.TB, db *store.Store, set ...string) *served {
	t.Helper()
	s := &served{t: t, store: db, agent: &agent{}, log: &logTo{t: t}}
	var err error
	s.config, err = config.Load(config.Sources{Set: append([]string{"DEFAULT.auth_strategy=noauth", "api.allowed_hosts=example.com"}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := hardware.NewCatalogue(hardware.Enabled{}, hardware.ValidationSettings{})
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := trust.OpenSealer(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	s.sealer = sealer
	log := slog.New(slog.NewTextHandler(s.log, nil))
	if _, fuzzing := t.(*testing.F); fuzzing {
		log = slog.New(slog.DiscardHandler)
	}
	s.api, err = New(Options{
		Store: s.store, Config: s.config, Catalogue: catalogue, Sealer: sealer, Commands: s.agent,
		CAPEM: []byte("a certificate\n"), Logger: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Write(t, s.store, func(ctx context.Context, tx *store.Tx) error {
		here := metal.Conductor{Hostname: "here", Drivers: []string{"fake-hardware", "manual-management"}, Online: true}
		site := metal.Conductor{Hostname: "site-1", Drivers: []string{"redfish"}, AgentID: "a", Online: true}
		if err := tx.UpsertConductor(ctx, &here); err != nil {
			return err
		}
		return tx.UpsertConductor(ctx, &site)
	})
	return s
}

// logTo keeps what the API logs, and shows it with the test's.
type logTo struct {
	t  testing.TB
	mu sync.Mutex
	b  strings.Builder
}

func (l *logTo) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Log(strings.TrimSpace(string(p)))
	return l.b.Write(p)
}

func (l *logTo) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// answer is what the API said.
type answer struct {
	*httptest.ResponseRecorder
	t testing.TB
}

// ask sends a request; "k: v" pairs after the body are headers.
func (s *served) ask(version, method, path, body string, headers ...string) answer {
	s.t.Helper()
	return s.askIn(s.t.Context(), version, method, path, body, headers...)
}

// askIn is ask with the context that the request comes with.
func (s *served) askIn(ctx context.Context, version, method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://example.com"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if version != "" {
		r.Header.Set("X-OpenStack-Ironic-API-Version", version)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body = http.NoBody
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	described(s.t, method, path, w)
	return answer{w, s.t}
}

// want fails the test where the status is another.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("status %d, want %d: %s", a.Code, status, a.Body)
	}
	return a
}

func (a answer) object() map[string]any {
	a.t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &m); err != nil {
		a.t.Fatalf("%v: %s", err, a.Body)
	}
	return m
}

// fault is the inner object of an error.
func (a answer) fault() map[string]any {
	a.t.Helper()
	text, ok := a.object()["error_message"].(string)
	if !ok {
		a.t.Fatalf("no error_message: %s", a.Body)
	}
	var inner map[string]any
	if err := json.Unmarshal([]byte(text), &inner); err != nil {
		a.t.Fatalf("%v: %s", err, text)
	}
	return inner
}

// node creates a node and gives its UUID.
func (s *served) node(body string) string {
	s.t.Helper()
	uuid, _ := s.ask("latest", http.MethodPost, "/v1/nodes", body).want(http.StatusCreated).object()["uuid"].(string)
	return uuid
}

// put changes a node's row behind the API.
func (s *served) put(uuid string, change func(n *metal.Node)) {
	s.t.Helper()
	storetest.Write(s.t, s.store, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.LockNode(ctx, uuid)
		if err != nil {
			return err
		}
		change(n)
		return tx.UpdateNode(ctx, n)
	})
}

func (s *served) row(uuid string) metal.Node {
	s.t.Helper()
	n, err := s.store.NodeByUUID(s.t.Context(), uuid)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
