package kill

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

// outageLines is what an outage may add to the log, however long it lasts and
// however many requests it meets: its beginning and end, what broke with it, and
// the agent's tries to come back, which grow apart.
const outageLines = 40

// TestTheDatabaseGoesAndComesBack stops PostgreSQL under requests and work.
// Every request has an answer, what was accepted is there afterwards, and all
// goes on by itself.
func TestTheDatabaseGoesAndComesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	database := env.OwnPostgres(t)
	p := plane.Start(t, plane.Options{Args: []string{"--set", "database.connection=" + database.URL}})
	for round := range 3 {
		u := newUsers(t, p, round)
		u.await(10)
		p.Must(http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware", "name": fmt.Sprintf("working-%d", round)})
		p.Provision(fmt.Sprintf("working-%d", round), "manage", nil)
		before := logged(t, p)
		database.Stop()
		refuses(t, p)
		u.await(100)
		database.Start()
		awaitAnswer(t, p)
		u.await(10)
		u.leave()
		if lines := bytes.Count(logged(t, p)[len(before):], []byte("\n")); lines > outageLines {
			t.Errorf("the outage added %d lines to the log", lines)
		}
		p.AwaitState(fmt.Sprintf("working-%d", round), "manageable", arriveLimit)
	}
}

func logged(t *testing.T, p *plane.Plane) []byte {
	t.Helper()
	text, err := os.ReadFile(p.Log)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// refuses asks every kind of request once, without a database.
func refuses(t *testing.T, p *plane.Plane) {
	t.Helper()
	for _, request := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, "/v1/nodes", nil},
		{http.MethodGet, "/v1/nodes/working-0", nil},
		{http.MethodGet, "/v1/nodes/detail?sort_key=name", nil},
		{http.MethodGet, "/v1/ports?node=working-0", nil},
		{http.MethodGet, "/v1/allocations", nil}, // who serves nodes is known by heart for a moment
		{http.MethodGet, "/v1/shards", nil},
		{http.MethodGet, "/v1/lookup?node_uuid=7a5a2c5f-1f0c-4c3c-8f0f-0a6b1f8f6a5e", nil},
		{http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware"}},
		{http.MethodPost, "/v1/allocations", map[string]any{"resource_class": "any"}},
		{http.MethodPatch, "/v1/nodes/working-0", []any{map[string]any{"op": "add", "path": "/extra/a", "value": 1}}},
		{http.MethodPut, "/v1/nodes/working-0/states/provision", map[string]any{"target": "provide"}},
		{http.MethodPut, "/v1/nodes/working-0/states/power", map[string]any{"target": "power on"}},
		{http.MethodDelete, "/v1/nodes/working-0", nil},
	} {
		a := p.Call(request.method, request.path, request.body)
		fault, _ := a.Body["error_message"].(string)
		if a.Status != http.StatusServiceUnavailable || !strings.Contains(fault, `"faultcode":"Server"`) ||
			!strings.Contains(fault, "The database cannot be used at the moment.") {
			t.Errorf("%s %s: %d %s", request.method, request.path, a.Status, a.Text)
		}
	}
	for path, want := range map[string]int{"/": 200, "/v1": 200, "/healthz": 200, "/readyz": 503, "/ferrule/v1/agents": 503, "/metrics": 200} {
		if a := p.Call(http.MethodGet, path, nil); a.Status != want {
			t.Errorf("%s: %d %s", path, a.Status, a.Text)
		}
	}
}

func awaitAnswer(t *testing.T, p *plane.Plane) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	late := time.After(pointLimit)
	for p.Call(http.MethodGet, "/readyz", nil).Status != http.StatusOK {
		select {
		case <-late:
			t.Fatal("it does not find its database again")
		case <-look.C:
		}
	}
}

// users read and create, all the time.
type users struct {
	t      *testing.T
	p      *plane.Plane
	cancel context.CancelFunc
	work   sync.WaitGroup
	asked  chan struct{}

	mu       sync.Mutex
	accepted []string
}

func newUsers(t *testing.T, p *plane.Plane, round int) *users {
	ctx, cancel := context.WithCancel(t.Context())
	u := &users{t: t, p: p, cancel: cancel, asked: make(chan struct{})}
	u.work.Go(func() {
		for ctx.Err() == nil {
			u.ask(ctx, http.MethodGet, "/v1/nodes?limit=1", nil)
		}
	})
	u.work.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			name := fmt.Sprintf("created-%d-%d", round, n)
			if u.ask(ctx, http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware", "name": name}) {
				u.mu.Lock()
				u.accepted = append(u.accepted, name)
				u.mu.Unlock()
			}
		}
	})
	return u
}

// ask sends one request; an answer that is neither good nor 503 fails the test.
func (u *users) ask(ctx context.Context, method, path string, body any) bool {
	a, err := u.p.Try(ctx, method, path, body)
	switch {
	case ctx.Err() != nil:
		return false
	case err != nil:
		u.t.Errorf("%s %s: %v", method, path, err)
	case a.Status/100 != 2 && a.Status != http.StatusServiceUnavailable:
		u.t.Errorf("%s %s: %d %s", method, path, a.Status, a.Text)
	}
	select {
	case u.asked <- struct{}{}:
	case <-ctx.Done():
	}
	return err == nil && a.Status/100 == 2
}

// await waits until so many more requests had their answers.
func (u *users) await(requests int) {
	for range requests {
		<-u.asked
	}
}

// leave ends them, and looks for what they were told was created.
func (u *users) leave() {
	u.t.Helper()
	u.cancel()
	u.work.Wait()
	if len(u.accepted) == 0 {
		u.t.Error("nothing was created")
	}
	for _, name := range u.accepted {
		u.p.Must(http.MethodGet, "/v1/nodes/"+name, nil)
	}
}
