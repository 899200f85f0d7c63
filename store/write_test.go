package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestAFailedWriteLeavesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := metal.Node{UUID: storetest.UUID(), Driver: "fake-hardware", ProvisionState: metal.Enroll}
		wakes, cancel := s.Subscribe(store.AgentTopic("a"))
		defer cancel()
		failure := errors.New("no")
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertNode(ctx, &n); err != nil {
				return err
			}
			if err := tx.InsertCommand(ctx, &metal.CommandRecord{ID: storetest.UUID(), NodeUUID: n.UUID, AgentID: "a"}); err != nil {
				return err
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
		if _, err := s.Node(t.Context(), n.UUID); metal.ReasonOf(err) != metal.NotFound {
			t.Errorf("got %v, want no node", err)
		}
		select {
		case <-wakes:
			t.Error("a transaction that was rolled back woke somebody")
		default:
		}
	})
}

func TestAPanicEndsTheTransaction(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.LockNode(ctx, n.UUID); err != nil {
					return err
				}
				panic("in the middle")
			})
		}()
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.LockNode(ctx, n.UUID)
			return err
		})
	})
}

func TestACallerWhoGivesUpLeavesTheStoreAsItWas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				locked, err := tx.LockNode(ctx, n.UUID)
				if err != nil {
					return err
				}
				locked.Description = ptr("given up")
				if err := tx.UpdateNode(ctx, locked); err != nil {
					return err
				}
				cancel()
				return nil
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			locked, err := tx.LockNode(ctx, n.UUID)
			if err == nil && locked.Description != nil {
				t.Errorf("the node has %q", *locked.Description)
			}
			return err
		})
	})
}

func TestAWriteWithinAWriteIsAnErrorAndNoDeadlock(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		err := s.Write(t.Context(), func(ctx context.Context, _ *store.Tx) error {
			return s.Write(ctx, func(context.Context, *store.Tx) error { return nil })
		})
		if err == nil {
			t.Error("got no error")
		}
	})
}

func TestReadersAreNotHeldUpByAWriter(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, func(n *metal.Node) { n.Description = ptr("before") })
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			locked, err := tx.LockNode(ctx, n.UUID)
			if err != nil {
				return err
			}
			locked.Description = ptr("after")
			if err := tx.UpdateNode(ctx, locked); err != nil {
				return err
			}
			// The writer waits for the readers here: held up by it they never came back.
			if got, err := s.Node(t.Context(), n.UUID); err != nil || *got.Description != "before" {
				t.Errorf("a reader beside the writer got %v, %v", got.Description, err)
			}
			if got, err := s.Nodes(t.Context(), store.NodeQuery{}); err != nil || len(got) != 1 {
				t.Errorf("a list beside the writer got %d, %v", len(got), err)
			}
			if got, err := tx.Node(ctx, n.UUID); err != nil || *got.Description != "after" {
				t.Errorf("the writer itself got %v, %v", got.Description, err)
			}
			return nil
		})
		if got, err := s.Node(t.Context(), n.UUID); err != nil || *got.Description != "after" {
			t.Errorf("after the commit a reader got %v, %v", got.Description, err)
		}
	})
}

func TestMigrateMayBeCalledAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Node(t.Context(), n.UUID); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAddressThatCannotBeOpenedIsExplainedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"", "mysql://u:obviously-fake-8f2c@h/d", "sqlite://relative/obviously-fake-8f2c",
		"postgresql://u:obviously-fake-8f2c@h:notaport/d",
	} {
		_, err := store.Open(t.Context(), store.Config{DSN: dsn})
		if err == nil {
			t.Fatalf("%q was opened", dsn)
		}
		if strings.Contains(err.Error(), "obviously-fake-8f2c") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

func TestAnyPathWillDo(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "a b?c=1&%41#d", "deeper")
	path := filepath.Join(folder, "nodes.db")
	s := storetest.Open(t, "sqlite:///"+path)
	storetest.Node(t, s, nil)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want a file for its owner alone", info, err)
	}
}
