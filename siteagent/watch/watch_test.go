package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ferrule/link"
	"ferrule/metal"
)

// bmc is a BMC whose power tests set.
type bmc struct {
	mu      sync.Mutex
	reading Reading
	busy    bool
	reads   int
}

func (b *bmc) set(r Reading) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = r
}

func (b *bmc) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads
}

func (b *bmc) read(context.Context) (Reading, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	return b.reading, !b.busy
}

// plane keeps the observations it is given.
type plane struct {
	mu   sync.Mutex
	seen []link.Observation
	err  error
	hold chan struct{} // reports wait until it is closed; nil: they do not
}

func (p *plane) report(ctx context.Context, batch []link.Observation) error {
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	p.seen = append(p.seen, batch...)
	return nil
}

// states is what was seen of a node: its states, and codes in their place.
func (p *plane) states(node string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, o := range p.seen {
		if o.NodeUUID == node {
			all = append(all, string(o.PowerState)+string(o.ErrorCode))
		}
	}
	return all
}

func (p *plane) want(t *testing.T, node string, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := p.states(node); !slices.Equal(got, want) {
		t.Errorf("seen of %s: %q, want %q", node, got, want)
	}
}

func lease(b *bmc) Lease {
	return Lease{NodeUUID: "n", Target: "bmc", Interval: time.Minute, Length: time.Hour, Read: b.read}
}

func on() Reading  { return Reading{State: metal.PowerOn} }
func off() Reading { return Reading{State: metal.PowerOff} }
func dead() Reading {
	return Reading{Code: metal.CodeUnreachable, Message: "no route"}
}

// run gives a test a watch of its own in a bubble of its own time.
func run(t *testing.T, p *plane, test func(w *Watch)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := Start(p.report, slog.New(slog.DiscardHandler))
		defer w.Stop()
		test(w)
	})
}

func TestFirstReadingAndChangesAreReported(t *testing.T) {
	p, b := &plane{}, &bmc{reading: off()}
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		p.want(t, "n", "power off")
		pass(5 * time.Minute)
		p.want(t, "n", "power off")
		b.set(on())
		pass(time.Minute)
		p.want(t, "n", "power off", "power on")
	})
}

func TestAChangeOfHealthIsReported(t *testing.T) {
	p, b := &plane{}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		p.want(t, "n", "power on")
		b.set(Reading{State: metal.PowerOn, Health: metal.HealthWarning})
		pass(5 * time.Minute)
		p.want(t, "n", "power on", "power on")
	})
}

func TestWhatIsReadAfterAnActionIsNews(t *testing.T) {
	p, b := &plane{}, &bmc{reading: off()} // read in the middle of a restart
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		p.want(t, "n", "power off")
		w.Acted("n") // on again; and then somebody takes the power away
		pass(time.Minute)
		p.want(t, "n", "power off", "power off")
	})
}

func TestEachFailureIsReportedAndRecoveryToo(t *testing.T) {
	p, b := &plane{}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		p.want(t, "n", "power on")
		b.set(dead())
		pass(2 * time.Minute)
		synctest.Wait()
		seen := p.states("n")
		if len(seen) < 3 || seen[1] != "unreachable" || seen[2] != "unreachable" {
			t.Errorf("seen: %q", seen)
		}
		b.set(on())
		pass(time.Minute)
		synctest.Wait()
		if seen := p.states("n"); seen[len(seen)-1] != "power on" {
			t.Errorf("seen: %q", seen)
		}
	})
}

func TestLeaseEndsUnlessRenewed(t *testing.T) {
	p, b := &plane{}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		pass(50 * time.Minute)
		w.Lease(lease(b))
		pass(50 * time.Minute)
		b.set(off())
		pass(time.Minute)
		p.want(t, "n", "power on", "power off")
		pass(10 * time.Minute)
		reads := b.count()
		pass(time.Hour)
		if more := b.count() - reads; more != 0 {
			t.Errorf("%d reads after the lease", more)
		}
		w.Lease(lease(b))
		p.want(t, "n", "power on", "power off", "power off")
		end := lease(b)
		end.Length = 0
		w.Lease(end)
		synctest.Wait()
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.watched) != 0 {
			t.Error("the lease was not ended")
		}
	})
}

// What a lease holds goes when it ends, however far the next look would be.
func TestAnEndedLeaseIsForgottenAtItsEnd(t *testing.T) {
	run(t, &plane{}, func(w *Watch) {
		l := lease(&bmc{reading: on()})
		l.Interval, l.Length = time.Hour, 10*time.Second
		w.Lease(l)
		left := func() int {
			synctest.Wait()
			w.mu.Lock()
			defer w.mu.Unlock()
			return len(w.watched)
		}
		pass(9 * time.Second)
		if n := left(); n != 1 {
			t.Errorf("%d leases, want 1", n)
		}
		pass(2 * time.Second)
		if n := left(); n != 0 {
			t.Errorf("%d leases are kept after the end", n)
		}
	})
}

func TestNodeThatMovesIsReadAnewAtOnce(t *testing.T) {
	p, first, second := &plane{}, &bmc{reading: on()}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		w.Lease(lease(first))
		p.want(t, "n", "power on")
		moved := lease(second)
		moved.Target, moved.Interval = "other", 10*time.Second
		w.Lease(moved)
		p.want(t, "n", "power on", "power on")
		second.set(off())
		pass(10 * time.Second)
		p.want(t, "n", "power on", "power on", "power off")
	})
}

func TestBusyBMCIsAskedAgainSoon(t *testing.T) {
	p, b := &plane{}, &bmc{reading: on(), busy: true}
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		p.want(t, "n")
		b.mu.Lock()
		b.busy = false
		b.mu.Unlock()
		pass(retryBusy)
		p.want(t, "n", "power on")
	})
}

func TestOnlyTheNewestIsReportedAfterAnOutage(t *testing.T) {
	p, b := &plane{}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		p.hold = make(chan struct{})
		w.Lease(lease(b))
		for _, r := range []Reading{off(), dead(), on(), off()} {
			pass(time.Minute)
			b.set(r)
		}
		pass(time.Minute)
		close(p.hold)
		p.want(t, "n", "power on", "power off")
	})
}

func TestRefusedReportIsMadeAgain(t *testing.T) {
	p, b := &plane{err: errors.New("no")}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		w.Lease(lease(b))
		synctest.Wait()
		p.mu.Lock()
		p.err = nil
		p.mu.Unlock()
		pass(time.Minute)
		p.want(t, "n", "power on")
	})
}

func TestDeadBMCsDoNotHoldUpOthers(t *testing.T) {
	p, alive := &plane{}, &bmc{reading: on()}
	run(t, p, func(w *Watch) {
		silent := func() bool { return true }
		for i := range 4 * maxAtOnce {
			dead := Lease{
				NodeUUID: fmt.Sprint("dead ", i), Interval: time.Minute, Length: time.Hour,
				Read: func(ctx context.Context) (Reading, bool) { <-ctx.Done(); return dead(), true },
			}
			if i%2 == 0 {
				dead.Silent = silent
			}
			w.Lease(dead)
		}
		synctest.Wait()
		w.Lease(lease(alive))
		pass(10 * patience) // the dead ones are all still being read
		p.want(t, "n", "power on")
	})
}

// pass lets the bubble's own time go on.
func pass(d time.Duration) { <-time.After(d) }
