package store

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// reach watches over the making of connections to PostgreSQL, for all who share
// the pool. A server that does not answer is asked again at growing intervals,
// however many want something of it meanwhile: they are told at once.
type reach struct {
	noQueries
	outages *outages

	mu     sync.Mutex
	waits  *backoff.ExponentialBackOff
	since  time.Time // zero: the server answered when it was last asked
	next   time.Time // no try before
	trying bool      // one try at a time: a silent server takes long to fail
	cause  error
}

// The pauses between tries to connect, and the patience with a silent server.
const (
	firstReach      = 250 * time.Millisecond
	mostReach       = 5 * time.Second
	connectPatience = 10 * time.Second
)

// stillAway is the answer to who wants a connection between two tries.
type stillAway struct{ cause error }

func (e *stillAway) Error() string { return "not tried again so soon after: " + e.cause.Error() }
func (e *stillAway) Unwrap() error { return e.cause }

func newReach(o *outages) *reach { return &reach{outages: o, waits: reachWaits()} }

func reachWaits() *backoff.ExponentialBackOff {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval, waits.Multiplier = firstReach, mostReach, 2
	return waits
}

// watch has all connections of a pool made under this watch.
func (r *reach) watch(cfg *pgxpool.Config) {
	cfg.ConnConfig.Tracer = r
	cfg.BeforeConnect = r.mayTry
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectPatience
	}
}

// away says whether the server did not answer when it was last asked. Nobody
// watches over SQLite, which is never away.
func (r *reach) away() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.since.IsZero()
}

func (r *reach) mayTry(context.Context, *pgx.ConnConfig) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since.IsZero() {
		return nil
	}
	if r.trying || time.Now().Before(r.next) {
		return &stillAway{r.cause}
	}
	r.trying = true
	return nil
}

// TraceConnectStart is of no interest.
func (r *reach) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

// TraceConnectEnd notes how a try went.
func (r *reach) TraceConnectEnd(ctx context.Context, end pgx.TraceConnectEndData) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tried := r.trying
	r.trying = false
	if end.Err != nil && ctx.Err() != nil {
		return // who wanted the connection has gone: this says nothing of the server
	}
	now := time.Now()
	switch {
	case end.Err != nil:
		if r.since.IsZero() {
			r.since = now
			r.waits.Reset()
		} else if !tried {
			return // it was begun before the outage was known, as others were
		}
		r.cause, r.next = end.Err, now.Add(r.waits.NextBackOff())
		r.outages.tell(end.Err)
	case !r.since.IsZero():
		r.outages.logger.InfoContext(ctx, "the database is back", "away", now.Sub(r.since).Round(time.Millisecond))
		r.since, r.cause = time.Time{}, nil
		r.outages.over()
	}
}

var _ pgx.ConnectTracer = (*reach)(nil)

// noQueries is the part of a tracer that nobody needs.
type noQueries struct{}

// TraceQueryStart is of no interest.
func (noQueries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd is of no interest.
func (noQueries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
