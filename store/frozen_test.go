package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// goOnLimit is how long a node may stand still because a process that has it is
// frozen. The server ends the transaction after 5 s, and those that wait try
// again at least every second and a half: the rest is margin.
const goOnLimit = 20 * time.Second

// frozen is a process that stops within a transaction: for the server it is the
// same whether the kernel stopped it or, as here, it does not go on.
type frozen struct {
	store *store.Store
	tries int // of its transaction
	wake  chan struct{}
	ended chan error
}

// freeze changes the node, sends an event and a command, and stops.
func freeze(t *testing.T, dsn, node, agent string) *frozen {
	t.Helper()
	f := &frozen{store: storetest.Open(t, dsn), wake: make(chan struct{}), ended: make(chan error, 1)}
	stopped := make(chan struct{})
	go func() {
		f.ended <- f.store.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
			f.tries++
			n, err := tx.LockNode(ctx, node)
			if err != nil {
				return err
			}
			if f.tries > 1 {
				// It sees what others did while it was away.
				if n.Description == nil || *n.Description != "by the peer" {
					t.Errorf("the woken process read %v", n.Description)
				}
				return nil
			}
			n.Description = ptr("by the frozen process")
			if err := tx.UpdateNode(ctx, n); err != nil {
				return err
			}
			if err := tx.InsertCommand(ctx, &metal.CommandRecord{ID: storetest.UUID(), NodeUUID: node, AgentID: agent}); err != nil {
				return err
			}
			if err := tx.Post(ctx, node, metal.InboxVerb, `"by the frozen process"`); err != nil {
				return err
			}
			close(stopped)
			<-f.wake
			return tx.AddHistory(ctx, &metal.HistoryEntry{UUID: storetest.UUID(), NodeUUID: node, Event: "by the frozen process"})
		})
	}()
	select {
	case <-stopped:
	case err := <-f.ended:
		t.Fatalf("it ended early: %v", err)
	}
	return f
}

// change is what requests do with a node: lock it, order something of its agent.
func change(ctx context.Context, s *store.Store, node, agent string) error {
	return s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.LockNode(ctx, node)
		if err != nil {
			return err
		}
		n.Description = ptr("by the peer")
		if err := tx.InsertCommand(ctx, &metal.CommandRecord{ID: storetest.UUID(), NodeUUID: node, AgentID: agent}); err != nil {
			return err
		}
		return tx.UpdateNode(ctx, n)
	})
}

// The server is told here to leave the frozen process its locks for good. Many
// requests for its node take no connection from the rest, and no other node of
// the same agent waits.
func TestWaitersForALockedNodeHoldNobodyUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	dsn := env.Postgres(t) + "&pool_max_conns=8" // of which two write
	peer := storetest.Open(t, dsn)
	stuck, free := storetest.Node(t, peer, nil), storetest.Node(t, peer, nil)
	f := freeze(t, dsn+"&idle_in_transaction_session_timeout=0", stuck.UUID, "a")
	ctx, cancel := context.WithTimeout(t.Context(), goOnLimit)
	defer cancel()
	const many = 60
	waiters := make(chan error, many)
	for range many {
		go func() { waiters <- again(ctx, func() error { return change(ctx, peer, stuck.UUID, "a") }) }()
	}
	for range 10 {
		if err := change(ctx, peer, free.UUID, "a"); err != nil {
			t.Errorf("another node of the same agent: %v", err)
		}
		if list, err := peer.Nodes(ctx, store.NodeQuery{}); err != nil || len(list) != 2 {
			t.Errorf("a list: %d nodes, %v", len(list), err)
		}
		if err := peer.Ping(ctx); err != nil {
			t.Errorf("the health check: %v", err)
		}
	}
	if list, err := peer.DeliverCommands(ctx, "a", 0, 100); err != nil || len(list) != 10 {
		t.Errorf("delivered %d commands, %v", len(list), err)
	}
	if len(waiters) != 0 {
		t.Fatalf("a change of the locked node ended: %v", <-waiters)
	}
	close(f.wake)
	if err := <-f.ended; err != nil {
		t.Errorf("the one that was slow, and lost nothing: %v", err)
	}
	for range many {
		if err := <-waiters; err != nil {
			t.Errorf("a change of the node, once it was free: %v", err)
		}
	}
	if list, err := peer.DeliverCommands(ctx, "a", 10, 100); err != nil || len(list) != many+1 {
		t.Errorf("delivered %d more commands, %v", len(list), err)
	}
}

// again sends a request again where it is told to, as clients of Ironic do.
func again(ctx context.Context, f func() error) error {
	for {
		err := f()
		if metal.ReasonOf(err) != metal.Conflict || ctx.Err() != nil {
			return err
		}
	}
}

// The server ends the transaction of the frozen process. Its node goes on, and
// nothing of what it did is written when it wakes: what it runs again reads
// afresh.
func TestAFrozenProcessLosesItsTransaction(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	dsn := env.Postgres(t) + "&pool_max_conns=8"
	peer := storetest.Open(t, dsn)
	n := storetest.Node(t, peer, nil)
	f := freeze(t, dsn, n.UUID, "a")
	ctx, cancel := context.WithTimeout(t.Context(), goOnLimit)
	defer cancel()
	if err := again(ctx, func() error { return change(ctx, peer, n.UUID, "a") }); err != nil {
		t.Fatalf("the node did not go on within %s: %v", goOnLimit, err)
	}
	close(f.wake)
	if err := <-f.ended; err != nil && metal.ReasonOf(err) != metal.Outage {
		t.Errorf("the woken process: %v", err)
	} else if err == nil && f.tries != 2 {
		t.Errorf("the woken process committed at try %d", f.tries)
	}
	// And it works again.
	storetest.Write(t, f.store, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.LockNode(ctx, n.UUID)
		return err
	})
	after, err := peer.NodeByUUID(t.Context(), n.UUID)
	if err != nil || *after.Description != "by the peer" || after.Wake {
		t.Errorf("the node is %q, awake %t, %v", *after.Description, after.Wake, err)
	}
	if history, err := peer.History(t.Context(), n.UUID, store.HistoryQuery{}); err != nil || len(history) != 0 {
		t.Errorf("%d history entries, %v", len(history), err)
	}
	if list, err := peer.DeliverCommands(t.Context(), "a", 0, 10); err != nil || len(list) != 1 {
		t.Errorf("%d commands, %v", len(list), err)
	}
}

// A unit is run again as a whole, even where the code in it makes something else
// of the error that it meets.
func TestAUnitThatMeetsALockedNodeRunsAgainAsAWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	dsn := env.Postgres(t) + "&pool_max_conns=8"
	peer := storetest.Open(t, dsn)
	n := storetest.Node(t, peer, nil)
	f := freeze(t, dsn, n.UUID, "a")
	ctx, cancel := context.WithTimeout(t.Context(), goOnLimit)
	defer cancel()
	tries := 0
	unit := func() error {
		return peer.Unit(ctx, func(ctx context.Context, tx *store.Tx) error {
			tries++
			if _, err := tx.AddKeptAnswer(ctx, &store.KeptAnswer{ID: fmt.Sprint(tries), Sealed: []byte("none")}); err != nil {
				return err
			}
			if err := change(ctx, peer, n.UUID, "a"); err != nil && metal.ReasonOf(err) != metal.Conflict {
				return errors.Join(metal.Errorf(metal.Invalid, "something went wrong"))
			}
			return nil
		})
	}
	if err := again(ctx, unit); err != nil {
		t.Fatal(err)
	}
	close(f.wake)
	if err := <-f.ended; err != nil && metal.ReasonOf(err) != metal.Outage {
		t.Fatal(err)
	}
	for try := range tries {
		_, err := peer.KeptAnswer(t.Context(), fmt.Sprint(try+1))
		if kept := err == nil; kept != (try+1 == tries) {
			t.Errorf("of %d tries, what the %d. did is kept: %t", tries, try+1, kept)
		}
	}
	if tries < 2 {
		t.Error("it met no locked node")
	}
}

// Heartbeats that need one statement queue as all else does.
func TestTouchesQueueForANode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				err := again(t.Context(), func() error {
					seen, err := s.NodeByUUID(t.Context(), n.UUID)
					if err != nil {
						return err
					}
					return s.TouchNode(t.Context(), &seen, "driver_internal_info")
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if after, err := s.NodeByUUID(t.Context(), n.UUID); err != nil || after.Version != n.Version+20 {
			t.Errorf("version %d after %d, %v", after.Version, n.Version, err)
		}
	})
}
