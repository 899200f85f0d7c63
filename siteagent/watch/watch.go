// Package watch reads the power of the nodes that the control plane has leased
// to this agent, and reports what changes. Leases are kept in memory only:
// whoever wants a node watched renews them.
package watch

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/siteagent/places"
)

// Reading is what one look at a BMC gave: a state, or why there is none.
type Reading struct {
	State   metal.PowerState
	Health  metal.Health
	Code    metal.ErrorCode // "" when the BMC answered
	Message string
}

// Lease is the order to watch one node for a time.
type Lease struct {
	NodeUUID string
	// Target tells the BMC and account; a node that is leased again with
	// another target is a new one.
	Target   string
	Interval time.Duration
	Length   time.Duration
	// Read looks once. It reports false when the BMC is busy with something
	// else, and is then asked again soon.
	Read func(context.Context) (Reading, bool)
	// Silent reports whether the BMC is known not to answer; nil: it is not.
	Silent func() bool
}

// Limits of a lease.
const (
	minInterval = time.Second
	retryBusy   = time.Second // after a BMC was busy
	maxAtOnce   = 64          // reads of BMCs that answer, and as many of silent ones
	patience    = time.Second // a read that takes longer gives its place up
)

// Watch is a running power watch.
type Watch struct {
	report func(context.Context, []link.Observation) error
	log    *slog.Logger
	places *places.Places

	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	watched map[string]*watched
	unsent  map[string]link.Observation // the newest of each node
	news    chan struct{}               // there is something unsent
}

// watched is one node under a lease.
type watched struct {
	lease    Lease
	ends     time.Time
	renewed  chan struct{}
	known    bool // the last reading was reported
	last     Reading
	failures int // in a row
}

// Start begins a watch that reports through report, which is to repeat until
// it succeeds or its context ends. Stop ends it.
func Start(report func(context.Context, []link.Observation) error, log *slog.Logger) *Watch {
	w := &Watch{
		report: report, log: log, places: places.New(maxAtOnce, patience),
		watched: map[string]*watched{}, unsent: map[string]link.Observation{}, news: make(chan struct{}, 1),
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.done.Go(w.send)
	return w
}

// Stop ends every lease and waits for the reads under way.
func (w *Watch) Stop() {
	w.mu.Lock() // no lease begins from here on
	w.cancel()
	w.mu.Unlock()
	w.done.Wait()
}

// Lease watches a node from now on, or for longer, or differently. A lease
// without a length ends the node's watch.
func (w *Watch) Lease(l Lease) {
	l.Interval = max(l.Interval, minInterval)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return
	}
	n, ok := w.watched[l.NodeUUID]
	if ok {
		if n.lease.Target != l.Target {
			n.known, n.failures = false, 0
		}
		n.lease, n.ends = l, time.Now().Add(l.Length)
		select {
		case n.renewed <- struct{}{}:
		default:
		}
		return
	}
	if l.Length <= 0 {
		return
	}
	n = &watched{lease: l, ends: time.Now().Add(l.Length), renewed: make(chan struct{}, 1)}
	w.watched[l.NodeUUID] = n
	w.done.Go(func() { w.watch(n) })
}

// Acted says that the power of a node was just acted upon. What is read next is
// news whatever it is: what was read on the way (off, in a restart) may be what
// is there again when somebody else takes the power away.
func (w *Watch) Acted(nodeUUID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n, ok := w.watched[nodeUUID]; ok {
		n.known = false
	}
}

// watch reads one node until its lease ends.
func (w *Watch) watch(n *watched) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var next time.Time
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-n.renewed:
			if !w.goesOn(n) {
				return
			}
			// A shorter interval holds from now on.
			next = w.sooner(n, next)
			timer.Reset(time.Until(w.nextOrEnd(n, next)))
			continue
		case <-timer.C:
		}
		if !w.goesOn(n) {
			return
		}
		next = w.look(n)
		timer.Reset(time.Until(w.nextOrEnd(n, next)))
	}
}

// goesOn reports whether the lease is in force, and forgets the node if not.
func (w *Watch) goesOn(n *watched) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(n.ends) {
		return true
	}
	delete(w.watched, n.lease.NodeUUID)
	return false
}

// nextOrEnd is when to wake up: a lease that ends before the next look is
// forgotten then, and the password that it holds with it.
func (w *Watch) nextOrEnd(n *watched, next time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.ends.Before(next) {
		return n.ends
	}
	return next
}

func (w *Watch) sooner(n *watched, next time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !n.known {
		return time.Now()
	}
	if latest := time.Now().Add(n.lease.Interval); next.After(latest) {
		return latest
	}
	return next
}

// look reads the node once, and tells when to look again.
func (w *Watch) look(n *watched) time.Time {
	w.mu.Lock()
	lease := n.lease
	w.mu.Unlock()
	began := time.Now()
	reading, ok := w.read(lease)
	if !ok {
		return time.Now().Add(min(retryBusy, lease.Interval))
	}
	w.note(n, lease, reading)
	// A little less than the interval, so that nodes leased at once do not
	// stay in step and a change shows within the interval.
	return began.Add(lease.Interval - time.Duration(rand.Float64()*0.2*float64(lease.Interval)))
}

func (w *Watch) read(l Lease) (reading Reading, ok bool) {
	silent := l.Silent != nil && l.Silent()
	w.places.Run(w.ctx, silent, func() { reading, ok = l.Read(w.ctx) })
	return reading, ok && w.ctx.Err() == nil
}

// note queues a reading for the control plane if it is news: the first, a
// change, and every failure, because it is the control plane that counts them.
func (w *Watch) note(n *watched, lease Lease, r Reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.lease.Target != lease.Target {
		return // it was read where the node no longer is
	}
	if r.Code == "" {
		n.failures = 0
		if n.known && n.last == r {
			return
		}
	} else {
		n.failures++
	}
	if n.failures == 1 {
		w.log.Warn("power of a node cannot be read", "node", lease.NodeUUID, "code", r.Code, "message", r.Message)
	}
	n.known, n.last = true, r
	w.unsent[lease.NodeUUID] = link.Observation{
		Kind: link.ObservedPower, NodeUUID: lease.NodeUUID, PowerState: r.State, Health: r.Health,
		ErrorCode: r.Code, Message: r.Message, SeenAt: time.Now().UTC(),
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// send reports what is unsent, all at once; while that waits for the control
// plane, newer observations take the place of older ones.
func (w *Watch) send() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.news:
		}
		batch := w.take()
		if len(batch) == 0 {
			continue
		}
		if err := w.report(w.ctx, batch); err != nil && w.ctx.Err() == nil {
			w.log.Error("the control plane does not take what the power watch saw", "nodes", len(batch), "error", err)
			w.forget(batch)
		}
	}
}

// maxBatch is how many observations are reported at once.
const maxBatch = 500

func (w *Watch) take() []link.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []link.Observation
	for node, seen := range w.unsent {
		if len(batch) == maxBatch {
			select {
			case w.news <- struct{}{}:
			default:
			}
			break
		}
		batch = append(batch, seen)
		delete(w.unsent, node)
	}
	return batch
}

// forget makes the next reading of each node news again.
func (w *Watch) forget(batch []link.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, seen := range batch {
		if n, ok := w.watched[seen.NodeUUID]; ok {
			n.known = false
		}
	}
}
