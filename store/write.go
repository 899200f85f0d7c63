package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"ferrule/failpoint"
	"ferrule/metal"
)

type writing struct{}

// errNested saves from waiting for oneself: SQLite has one writer.
var errNested = errors.New("store: Write within Write; pass the Tx on instead")

// The pauses between tries of a transaction that the engine turned down.
const (
	mostTries  = 10
	firstPause = 2 * time.Millisecond
	mostPause  = 250 * time.Millisecond

	// Where a lock was not to be had, the connection is left to others for longer
	// than it was used.
	firstLockPause = 250 * time.Millisecond
	mostLockPause  = time.Second
)

// lockPatience is how long a transaction is tried again because another one has
// the rows that it needs. It is longer than a process that stopped within a
// transaction keeps them (idle_in_transaction_session_timeout).
const lockPatience = 10 * time.Second

// pointCommit is passed on PostgreSQL alone, so that those who look for the
// failpoints of both engines in the code do not find it by its text.
const pointCommit = "store-before-commit"

// Write runs f in one transaction and, where the engine turns the transaction
// down for the sake of another, runs f again from the start. What the
// transaction woke is woken after its commit.
func (s *Store) Write(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(writing{}) != nil {
		return errNested
	}
	if tx := unitOf(ctx); tx != nil {
		return tx.part(ctx, f)
	}
	inner := context.WithValue(ctx, writing{}, true)
	return s.tries(ctx, func(h *holding) error {
		wakes, err := s.once(inner, h, f)
		if err == nil {
			s.hub.wake(wakes...)
		}
		return err
	})
}

// tries runs one until it is not turned down for the sake of another. Between
// two tries nothing of the database is held.
func (s *Store) tries(ctx context.Context, one func(h *holding) error) error {
	h := &holding{locks: s.nodes}
	defer h.releaseAll()
	late := time.Now().Add(lockPatience)
	pause, most := firstPause, mostPause
	for try := 1; ; try++ {
		err := one(h)
		var busy *nodeBusy
		switch {
		case err == nil:
			return nil
		case errors.As(err, &busy):
			if waited := s.waitForNode(ctx, h, busy, late); waited != nil {
				return waited
			}
			continue
		case isLockTimeout(err):
			if time.Now().After(late) {
				return lockedOut(err)
			}
			if len(h.nodes) != 1 {
				h.releaseAll() // with one it keeps its place in the queue
			}
			pause, most = max(pause, firstLockPause), mostLockPause
		case !s.db.retryable(err) && !errors.Is(err, errTogether) || try >= mostTries:
			return s.db.outages.seen(err)
		}
		s.logger.DebugContext(ctx, "transaction runs again", "try", try, "error", err)
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
		pause = min(2*pause, most)
	}
}

func (s *Store) waitForNode(ctx context.Context, h *holding, busy *nodeBusy, late time.Time) error {
	patient, cancel := context.WithDeadline(ctx, late)
	defer cancel()
	err := h.waitFor(patient, busy.uuid)
	if err != nil && ctx.Err() == nil {
		return lockedOut(busy)
	}
	return err
}

// lockedOut is the answer to a request whose rows another transaction did not
// let go of in time. Clients of Ironic send a request again after a 409.
func lockedOut(cause error) error {
	return &metal.Error{
		Reason: metal.Conflict, Cause: cause,
		Text: "Another request holds what this one changes, and did not finish in time. Try again.",
	}
}

func (s *Store) once(ctx context.Context, h *holding, f func(ctx context.Context, tx *Tx) error) (wakes []Topic, err error) {
	if s.db.pools == nil {
		err = s.together.write(ctx, func(sqlTx *sql.Tx) error {
			// A statement that is cut short may take the whole transaction along.
			tx := s.transaction(sqlTx, h)
			err := f(context.WithoutCancel(ctx), tx)
			wakes = tx.wakes
			if tx.broken != nil {
				return tx.broken
			}
			return err
		})
		return wakes, err
	}
	sqlTx, err := s.db.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	defer sqlTx.Rollback() //nolint:errcheck // after a commit it does nothing
	tx := s.transaction(sqlTx, h)
	err = f(ctx, tx)
	if tx.broken != nil {
		return nil, tx.broken
	}
	if err != nil {
		return nil, err
	}
	if err := tx.announce(ctx); err != nil {
		return nil, err
	}
	failpoint.Hit(pointCommit)
	if err := sqlTx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return tx.wakes, nil
}

func (s *Store) transaction(sqlTx *sql.Tx, h *holding) *Tx {
	c := s.db.onWriter()
	c.tx = sqlTx
	return &Tx{reads: reads{c: c, builder: s.builder}, store: s, tx: sqlTx, holding: h}
}

// Transient reports an error that is no fault of what the transaction did: the
// same may succeed in a while.
func (s *Store) Transient(err error) bool {
	var busy *nodeBusy
	return metal.ReasonOf(err) == metal.Outage || s.db.retryable(err) || errors.Is(err, errTogether) || errors.As(err, &busy)
}

// turnedDown reports an error for which the whole transaction must run again.
func (tx *Tx) turnedDown(err error) bool {
	var busy *nodeBusy
	return errors.As(err, &busy) || tx.c.retryable(err)
}
