package kill

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
	"ferrule/failpoint"
)

var allWrites = flag.Bool("all-writes", false, "freeze a process at each write of the store, not at some; takes a quarter of an hour")

// goOnLimit is how long nodes may stand still because a process is frozen. The
// server ends its transaction after 5 s, a job that it had begun is taken up
// after 12 s at most; the rest is margin.
const goOnLimit = 20 * time.Second

const (
	frozenWrites = 2               // of a run that does not ask for all
	readLimit    = 5 * time.Second // of a read: none waits for the frozen process's locks
	visitLimit   = 3 * time.Second // of a visitor at a process that is going to freeze
	fakeLives    = 3
)

// pair is two whole processes on one PostgreSQL.
type pair struct {
	victim, peer *plane.Plane
	dsn          string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{dsn: env.Postgres(t)}
	key := filepath.Join(t.TempDir(), "deployment.key")
	serve := func(host string) *plane.Plane {
		return plane.New(t, plane.Options{Command: "serve", Args: []string{
			"--set", "database.connection=" + p.dsn, "--set", "trust.deployment_key_file=" + key, "--set", "DEFAULT.host=" + host,
			"--set", "conductor.heartbeat_interval=2",
		}})
	}
	p.peer, p.victim = serve("peer"), serve("victim")
	p.peer.Launch()
	p.peer.AwaitReady()
	return p
}

// storeWrites are the points after each kind of write that the store makes in
// the work of these tests, as a process itself tells them.
func (p *pair) storeWrites(t *testing.T) []string {
	t.Helper()
	p.victim.Launch(failpoint.Env + "=trace")
	p.victim.AwaitReady()
	v := visit(t, p.victim, "traced")
	var found []string
	awaitTrue(t, pointLimit, fmt.Sprintf("%d kinds of writes of the store", leastWrites), func() bool {
		found = p.victimPassed(t)
		return len(found) >= leastWrites
	})
	v.leave()
	p.victim.Kill()
	return found
}

// victimPassed is the points of the store that a traced victim has named.
func (p *pair) victimPassed(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(p.victim.Log)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "failpoint passed: "); ok && strings.HasPrefix(name, "store-") {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// visitor sends one round after the other of requests that write something of
// each kind, to one process, and cares for no answer.
type visitor struct {
	p      *plane.Plane
	name   string
	cancel context.CancelFunc
	work   sync.WaitGroup
}

func visit(t *testing.T, p *plane.Plane, name string) *visitor {
	ctx, cancel := context.WithCancel(t.Context())
	v := &visitor{p: p, name: name, cancel: cancel}
	v.work.Go(func() {
		for round := 0; ctx.Err() == nil; round++ {
			v.round(ctx, round)
		}
	})
	t.Cleanup(v.leave)
	return v
}

func (v *visitor) leave() {
	v.cancel()
	v.work.Wait()
}

// awaitTrue asks again until yes says so.
func awaitTrue(t *testing.T, limit time.Duration, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	late := time.After(limit)
	for !yes() {
		select {
		case <-late:
			t.Fatalf("waiting for %s took more than %s", what, limit)
		case <-tick.C:
		}
	}
}

func (v *visitor) send(ctx context.Context, method, path string, body any, headers ...string) {
	ctx, cancel := context.WithTimeout(ctx, visitLimit)
	defer cancel()
	_, _ = v.p.Try(ctx, method, path, body, headers...)
}

func (v *visitor) round(ctx context.Context, round int) {
	name := fmt.Sprintf("%s-%d", v.name, round)
	node := "/v1/nodes/" + name
	mac := fmt.Sprintf("02:00:00:%02x:%02x:%02x", round>>16&255, round>>8&255, round&255)
	uuid := fmt.Sprintf("7a5a2c5f-1f0c-4c3c-8f0f-%012x", round)
	v.send(ctx, http.MethodPost, "/v1/nodes", map[string]any{
		"name": name, "uuid": uuid, "driver": "fake-hardware", "driver_info": map[string]any{"fake_password": "obviously-fake"},
	}, "Idempotency-Key: create-"+name)
	v.send(ctx, http.MethodPatch, node, []any{map[string]any{"op": "add", "path": "/extra/a", "value": round}})
	v.send(ctx, http.MethodPut, node+"/traits", map[string]any{"traits": []string{"CUSTOM_A"}})
	v.send(ctx, http.MethodPost, "/v1/ports", map[string]any{"node_uuid": uuid, "address": mac})
	v.send(ctx, http.MethodPut, node+"/states/provision", map[string]any{"target": "manage"})
	v.send(ctx, http.MethodPut, node+"/maintenance", map[string]any{"reason": "visited"})
	v.send(ctx, http.MethodDelete, node+"/maintenance", nil)
	v.send(ctx, http.MethodPost, "/v1/deploy_templates", map[string]any{"name": "CUSTOM_T", "steps": []any{
		map[string]any{"interface": "deploy", "step": "a", "args": map[string]any{}, "priority": 10},
	}})
	v.send(ctx, http.MethodDelete, "/v1/deploy_templates/CUSTOM_T", nil)
	v.send(ctx, http.MethodPost, "/v1/chassis", map[string]any{"description": name})
	v.send(ctx, http.MethodPost, "/v1/allocations", map[string]any{"name": name, "resource_class": "none"})
	v.send(ctx, http.MethodDelete, "/v1/allocations/"+name, nil)
	v.send(ctx, http.MethodPost, "/ferrule/v1/join-codes", map[string]any{"site": ""})
	v.send(ctx, http.MethodPut, node+"/states/provision", map[string]any{"target": "inspect"})
	if round%2 == 0 {
		v.send(ctx, http.MethodPut, node+"/maintenance", nil)
		v.send(ctx, http.MethodDelete, node, nil)
	}
}

// The process is frozen at a write of the store, as a part of a transaction.
// At its peer all nodes go on, those that it was at work on or was asked to
// change as well, and reads never wait. When it wakes it does harm to none, and
// serves again.
func TestAFrozenProcessHoldsNobodyUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	choose := chance(t)
	p := newPair(t)
	writes := p.storeWrites(t)
	t.Logf("the store writes at %d points: %v", len(writes), writes)
	if !*allWrites {
		choose.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
		writes = writes[:frozenWrites]
	}
	f := fakeFleet(t, p.peer)
	for _, point := range writes {
		p.freezeAt(t, f, point)
		f.check()
	}
	f.arrive()
	p.victim.Launch()
	p.victim.AwaitReady()
	p.victim.Stop()
	p.peer.Stop()
	db, err := sql.Open("pgx", p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, text := range rows(t, db, "SELECT DISTINCT last_error FROM nodes WHERE last_error IS NOT NULL") {
		t.Errorf("a node failed: %s", text)
	}
	if left := rows(t, db, "SELECT node_uuid FROM inbox"); len(left) != 0 {
		t.Errorf("events that nobody took: %v", left)
	}
}

// leastWrites is how many kinds of writes the visitor and its nodes make.
const leastWrites = 24

// fakeFleet begins the lives of some nodes that need no agent.
func fakeFleet(t *testing.T, p *plane.Plane) *fleet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &fleet{t: t, enough: make(chan struct{}), cancel: cancel}
	for i := range fakeLives {
		f.lives = append(f.lives, &life{plane: p, name: "fake-" + strconv.Itoa(i), enough: f.enough})
	}
	f.begin(ctx)
	return f
}

// freezeAt lets the victim freeze, sees that all goes on, and wakes it.
func (p *pair) freezeAt(t *testing.T, f *fleet, point string) {
	t.Helper()
	p.victim.Launch(failpoint.Env + "=freeze@" + point)
	hit := "failpoint hit: " + point
	v := visit(t, p.victim, point)
	awaitTrue(t, pointLimit, "the freeze at "+point, func() bool { _, there := p.victim.Printed(hit); return there })
	began := time.Now()
	v.leave()
	p.allGoesOn(t, f, point)
	t.Logf("%s: all had gone on %s after the freeze", point, time.Since(began).Round(time.Millisecond))
	p.victim.Continue()
	awaitTrue(t, pointLimit, "the woken process to serve", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), visitLimit)
		defer cancel()
		a, err := p.victim.Try(ctx, http.MethodGet, "/readyz", nil)
		return err == nil && a.Status == http.StatusOK
	})
	p.victim.Kill()
}

// allGoesOn waits until each life has come a stage further, and each other node
// was changed at the peer; beside that, reads go on.
func (p *pair) allGoesOn(t *testing.T, f *fleet, point string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), goOnLimit)
	defer cancel()
	before := f.stages()
	var all, reads sync.WaitGroup
	for i, l := range f.lives {
		all.Go(func() {
			err := again(ctx, "go on", func() (bool, any, error) { return l.stages.Load() > before[i], nil, nil })
			if err != nil {
				t.Errorf("frozen at %s: %s did not go on within %s: %v", point, l.name, goOnLimit, err)
			}
		})
	}
	for _, name := range p.otherNodes(t) {
		all.Go(func() {
			err := again(ctx, "change "+name, func() (bool, any, error) {
				a, err := p.peer.Try(ctx, http.MethodPatch, "/v1/nodes/"+name,
					[]any{map[string]any{"op": "add", "path": "/extra/after", "value": point}})
				return err == nil && (a.Status == http.StatusOK || a.Status == http.StatusNotFound), told(a, err), nil
			})
			if err != nil {
				t.Errorf("frozen at %s: %v", point, err)
			}
		})
	}
	done := make(chan struct{})
	reads.Go(func() { p.readUntil(t, done, point) })
	all.Wait()
	close(done)
	reads.Wait()
}

func (p *pair) readUntil(t *testing.T, done <-chan struct{}, point string) {
	for {
		for _, path := range []string{"/v1/nodes", "/v1/nodes/detail?limit=5", "/readyz"} {
			ctx, cancel := context.WithTimeout(t.Context(), readLimit)
			a, err := p.peer.Try(ctx, http.MethodGet, path, nil)
			cancel()
			if err != nil || a.Status != http.StatusOK {
				t.Errorf("frozen at %s: GET %s: %v", point, path, told(a, err))
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// otherNodes are the names of those that live no life: the newest of the visitor's.
func (p *pair) otherNodes(t *testing.T) []string {
	t.Helper()
	const most = 20
	list, _ := p.peer.Must(http.MethodGet, "/v1/nodes?sort_key=created_at&sort_dir=desc&limit=40", nil)["nodes"].([]any)
	var names []string
	for _, item := range list {
		n, _ := item.(map[string]any)
		if name, _ := n["name"].(string); !strings.HasPrefix(name, "fake-") && len(names) < most {
			names = append(names, name)
		}
	}
	return names
}
