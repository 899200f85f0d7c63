package kill

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/plane"
	"ferrule/failpoint"
)

var seedFlag = flag.Uint64("seed", 0, "chooses the instants of the kills; 0: any")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The limits are far more than a machine that does other work needs.
const (
	pointLimit  = 90 * time.Second
	arriveLimit = 3 * time.Minute
)

// chance is the source of a test's random choices. It prints how to have the
// same ones again.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("the choices are those of -seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// fleet is machines that are taken through their lives while somebody kills.
type fleet struct {
	t      *testing.T
	lives  []*life
	enough chan struct{}
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu   sync.Mutex
	errs []error
}

// startFleet begins the lives of the lab's servers, and of one node that needs
// no agent.
func startFleet(t *testing.T, p *plane.Plane, s *servers, group string) *fleet {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &fleet{t: t, enough: make(chan struct{}), cancel: cancel}
	for i := range s.all {
		f.lives = append(f.lives, &life{
			plane: p, lab: s, server: &s.all[i], name: "node-" + strconv.Itoa(i), group: group, enough: f.enough,
		})
	}
	f.lives = append(f.lives, &life{plane: p, lab: s, name: "fake", enough: f.enough})
	f.begin(ctx)
	return f
}

// begin starts the lives, and has them end with the test.
func (f *fleet) begin(ctx context.Context) {
	for _, l := range f.lives {
		f.work.Go(func() {
			if err := l.run(ctx); err != nil {
				f.failed(err)
			}
		})
	}
	f.t.Cleanup(func() {
		failed := f.t.Failed()
		f.cancel()
		f.work.Wait()
		if failed {
			f.tell()
		}
	})
}

// stages are how many stages of its lives each node has been through.
func (f *fleet) stages() []int64 {
	var all []int64
	for _, l := range f.lives {
		all = append(all, l.stages.Load())
	}
	return all
}

func (f *fleet) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// tell logs what the clients met and what happened to the servers at last.
func (f *fleet) tell() {
	f.t.Logf("the clients saw: %v", errors.Join(f.errs...))
	for _, l := range f.lives {
		if l.server == nil {
			continue
		}
		// The test's own context is over by now.
		events, err := l.lab.Events(context.Background(), l.server.Name, 0, 0)
		if err != nil || len(events) == 0 {
			f.t.Logf("%s: %v", l.name, err)
			continue
		}
		f.t.Logf("at last on %s:\n%s", l.name, around(events, len(events)-1))
	}
}

// check ends the test where a life has failed.
func (f *fleet) check() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, err := range f.errs {
		f.t.Error(err)
	}
	if f.t.Failed() {
		f.t.FailNow()
	}
}

// arrive lets each life come to its end, which must need no further help.
func (f *fleet) arrive() {
	f.t.Helper()
	late := time.AfterFunc(arriveLimit, f.cancel)
	defer late.Stop()
	close(f.enough)
	f.work.Wait()
	f.check()
	for _, l := range f.lives {
		f.t.Logf("%s lived %d times", l.name, l.lives)
		if l.server != nil {
			judgeMachine(f.t, l)
		}
	}
}

// victim is a process that is killed.
type victim interface {
	Launch(env ...string)
	Kill()
	Ended() <-chan struct{}
	Printed(words string) (string, bool)
}

// dieAt runs the victim until it has died at a passage of a failpoint.
func dieAt(t *testing.T, v victim, point string, passage int) {
	t.Helper()
	v.Launch(fmt.Sprintf("%s=%s:%d", failpoint.Env, point, passage))
	late := time.NewTimer(pointLimit)
	defer late.Stop()
	select {
	case <-v.Ended():
	case <-late.C:
		t.Errorf("%s was not passed %d times in %s", point, passage, pointLimit)
		v.Kill()
	}
	if _, there := v.Printed("failpoint hit: " + point); !there {
		t.Fatalf("it ended, and not at %s", point)
	}
}

// dieAfter runs the victim for a while.
func dieAfter(t *testing.T, v victim, while time.Duration) {
	t.Helper()
	v.Launch()
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-timer.C:
		v.Kill()
	case <-v.Ended():
		t.Fatal("it ended by itself")
	}
}

// startOnce lets the agent come on line for the first time: before that no
// conductor is known for the servers, and nodes are refused as by Ironic.
func startOnce(p *plane.Plane) {
	p.Launch()
	p.AwaitReady()
	p.Kill()
}

func TestNodesArriveAfterAKillAtEachFailpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	choose := chance(t)
	p := plane.New(t, plane.Options{})
	joining := points(t, "link/client")
	for _, point := range joining {
		dieAt(t, p, point, 1)
	}
	all := slices.DeleteFunc(points(t, "api", "cmd", "conductor", "drivers", "link", "siteagent", "store", "trust"),
		func(point string) bool { return slices.Contains(joining, point) })
	choose.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	startOnce(p)
	f := startFleet(t, p, startServers(t, "3", "127.0.101.1"), "")
	for _, point := range all {
		dieAt(t, p, point, 1+choose.IntN(4))
		f.check()
	}
	p.Launch()
	f.arrive()
	p.Stop()
	judgeDatabase(t, database(t, p.DataDir))
}

// kills is how often a random instant is tried, and in how many of them at
// least one node must be on its way.
const (
	kills         = 20
	killsOnTheWay = 15
)

func TestNodesArriveAfterKillsAtRandomInstants(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	choose := chance(t)
	p := plane.New(t, plane.Options{})
	for range 5 {
		// It may die before it has a database, a CA or an agent.
		dieAfter(t, p, time.Duration(choose.IntN(400))*time.Millisecond)
	}
	startOnce(p)
	f := startFleet(t, p, startServers(t, "3", "127.0.102.1"), "")
	onTheWay := 0
	for range kills {
		while := time.Duration(100+choose.IntN(2400)) * time.Millisecond
		dieAfter(t, p, while)
		f.check()
		states := inTransit(t, database(t, p.DataDir))
		t.Logf("killed after %s: %v", while, states)
		if len(states) > 0 {
			onTheWay++
		}
	}
	if onTheWay < killsOnTheWay {
		t.Errorf("only %d of %d kills met a node on its way", onTheWay, kills)
	}
	p.Launch()
	f.arrive()
	p.Stop()
	judgeDatabase(t, database(t, p.DataDir))
}
