package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// together lets writes that come at the same time share a transaction, and so
// the fsync that its commit costs. It is for SQLite, whose writers take turns
// anyway: who comes while a commit is under way waits for it, and then all that
// wait write one after the other, each within a savepoint, and the last commits
// for all. A write alone is a transaction as ever.
type together struct {
	db *database

	mu    sync.Mutex
	busy  bool
	queue []chan *joint // each gets the transaction to join; nil: to begin one
}

// joint is one transaction that writes take turns in.
type joint struct {
	tx    *sql.Tx
	holds int           // writes
	turns int           // of these and of those that failed
	over  bool          // nothing may be added
	done  chan struct{} // closed when err is what became of it
	err   error
}

// mostTogether is the turns that a transaction has: it bounds how long the first
// waits for the last.
const mostTogether = 64

// errTogether is why a write must run again: another one of its transaction
// broke it.
var errTogether = errors.New("the transaction was lost to another write in it")

// write runs f in a transaction, and returns after its commit.
func (t *together) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	j, err := t.enter(ctx)
	if err != nil {
		return err
	}
	if j == nil {
		if j, err = t.begin(ctx); err != nil {
			t.leave()
			return err
		}
	}
	if err := t.take(ctx, j, f); err != nil {
		return err
	}
	<-j.done
	return j.err
}

// enter waits for the turn.
func (t *together) enter(ctx context.Context) (*joint, error) {
	t.mu.Lock()
	if !t.busy {
		t.busy = true
		t.mu.Unlock()
		return nil, nil
	}
	turn := make(chan *joint, 1)
	t.queue = append(t.queue, turn)
	t.mu.Unlock()
	select {
	case j := <-turn:
		return j, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	at := slices.Index(t.queue, turn)
	if at >= 0 {
		t.queue = slices.Delete(t.queue, at, at+1)
	}
	t.mu.Unlock()
	if at >= 0 {
		return nil, ctx.Err()
	}
	return <-turn, nil // it came all the same, and must be passed on
}

// begin is not the caller's alone, so neither is its end.
func (t *together) begin(ctx context.Context) (*joint, error) {
	tx, err := t.db.writer.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	return &joint{tx: tx, done: make(chan struct{})}, nil
}

// take runs f and passes the turn on, whatever f does.
func (t *together) take(ctx context.Context, j *joint, f func(tx *sql.Tx) error) (err error) {
	j.turns++
	kept := false
	defer func() {
		if !kept {
			j.undo(ctx)
		}
		t.pass(ctx, j)
	}()
	if err := j.savepoint(ctx, "SAVEPOINT one"); err != nil {
		return err
	}
	if err := f(j.tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.savepoint(ctx, "RELEASE one"); err != nil {
		return err
	}
	j.holds++
	kept = true
	return nil
}

// savepoint runs a statement that the first write of a transaction does not need.
func (j *joint) savepoint(ctx context.Context, text string) error {
	if j.holds == 0 {
		return nil
	}
	_, err := j.tx.ExecContext(context.WithoutCancel(ctx), text)
	return err
}

// undo takes back the last write, and with it the transaction where it holds no
// other, or cannot be saved.
func (j *joint) undo(ctx context.Context) {
	if j.holds > 0 && j.savepoint(ctx, "ROLLBACK TO one") == nil && j.savepoint(ctx, "RELEASE one") == nil {
		return
	}
	_ = j.tx.Rollback() // after an error that ended it, there is nothing to roll back
	j.finish(errTogether)
}

func (j *joint) finish(err error) {
	j.over, j.err = true, err
	close(j.done)
}

// pass lets the next write join, or commits.
func (t *together) pass(ctx context.Context, j *joint) {
	if !j.over && j.turns < mostTogether {
		if next := t.next(); next != nil {
			next <- j
			return
		}
	}
	if !j.over {
		err := j.tx.Commit()
		if err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
		j.finish(err)
		t.db.written.catchUp(context.WithoutCancel(ctx), t.db.writer)
	}
	t.leave()
}

// next is who waits longest; nil where nobody does.
func (t *together) next() chan *joint {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil
	}
	first := t.queue[0]
	t.queue = t.queue[1:]
	return first
}

// leave lets the next write begin a transaction of its own.
func (t *together) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.busy = false
		return
	}
	t.queue[0] <- nil
	t.queue = t.queue[1:]
}
