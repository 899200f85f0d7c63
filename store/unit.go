package store

import (
	"context"
	"errors"
	"fmt"
)

// unit marks the context of a Unit.
type unit struct{}

func unitOf(ctx context.Context) *Tx {
	tx, _ := ctx.Value(unit{}).(*Tx)
	return tx
}

// mostUnits leaves half of the connections to others.
func (db *database) mostUnits() int {
	if db.pools == nil {
		return 1 // there is one that writes
	}
	return max(1, int(db.pools.write.Config().MaxConns)/2)
}

// InUnit says whether the context is that of a Unit: nothing that it writes is
// there for others before its end, so that there is nobody to wait for.
func InUnit(ctx context.Context) bool { return unitOf(ctx) != nil }

// Unit runs f in one transaction of which every Write and every read with f's
// context is a part, so that code which knows nothing of it is done wholly or
// not at all. Like that of Write, f may be run again from the start. There are
// only so many at a time: each keeps a connection while it may wait for somebody
// who needs another.
func (s *Store) Unit(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	select {
	case s.units <- struct{}{}:
		defer func() { <-s.units }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		ctx = context.WithValue(ctx, writing{}, nil)
		return f(context.WithValue(ctx, unit{}, tx), tx)
	})
}

// part is a Write within a Unit: what it did is undone where it fails, and the
// rest of the unit is not.
func (tx *Tx) part(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if tx.broken != nil {
		return tx.broken
	}
	if _, err := tx.tx.ExecContext(ctx, "SAVEPOINT part"); err != nil {
		return fmt.Errorf("begin a part: %w", err)
	}
	wakes := len(tx.wakes)
	err := f(context.WithValue(ctx, writing{}, true), tx)
	if err != nil {
		if tx.turnedDown(err) {
			tx.broken = err
			return err
		}
		tx.wakes = tx.wakes[:wakes]
		_, undone := tx.tx.ExecContext(context.WithoutCancel(ctx), "ROLLBACK TO SAVEPOINT part")
		return errors.Join(err, undone)
	}
	if _, err := tx.tx.ExecContext(ctx, "RELEASE SAVEPOINT part"); err != nil {
		return fmt.Errorf("end a part: %w", err)
	}
	return nil
}

// errBeside saves from waiting for ever: all who have a connection may wait for
// a second one.
var errBeside = errors.New("store: read beside the Write that it is part of; ask its Tx")

// within is c, or the transaction of the Unit that the context is part of.
func (c conn) within(ctx context.Context) (conn, error) {
	tx := unitOf(ctx)
	switch {
	case c.tx != nil:
		return c, nil
	case tx != nil:
		return tx.c, nil
	case ctx.Value(writing{}) != nil:
		return c, errBeside
	}
	return c, nil
}
