package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func insertNode(ctx context.Context, s *store.Store, name string, then error) error {
	return s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		n := metal.Node{UUID: storetest.UUID(), Name: &name, Driver: "fake-hardware", ProvisionState: metal.Enroll}
		if err := tx.InsertNode(ctx, &n); err != nil {
			return err
		}
		return then
	})
}

// What is written and read in a unit's context is one transaction; a part that
// fails leaves nothing, and the unit that fails leaves nothing of any part.
func TestAUnitIsDoneWhollyOrNotAtAll(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		no := errors.New("no")
		there := func(ctx context.Context, name string) bool {
			_, err := s.Node(ctx, name)
			if err != nil && metal.ReasonOf(err) != metal.NotFound {
				t.Error(err)
			}
			return err == nil
		}
		for _, ends := range []error{no, nil} {
			err := s.Unit(t.Context(), func(ctx context.Context, _ *store.Tx) error {
				if !store.InUnit(ctx) || store.InUnit(t.Context()) {
					t.Error("a unit is not known by its context")
				}
				if err := insertNode(ctx, s, "one", nil); err != nil {
					return err
				}
				if err := insertNode(ctx, s, "two", no); !errors.Is(err, no) {
					t.Errorf("a part that fails: %v", err)
				}
				// The engine itself refuses this part; the unit goes on.
				if err := insertNode(ctx, s, "one", nil); metal.ReasonOf(err) != metal.Conflict {
					t.Errorf("the same name again: %v", err)
				}
				if err := insertNode(ctx, s, "three", nil); err != nil {
					return err
				}
				if !there(ctx, "one") || there(ctx, "two") || !there(ctx, "three") || there(t.Context(), "one") {
					t.Error("the unit does not see its own writes, or others do")
				}
				list, err := s.Nodes(ctx, store.NodeQuery{Page: store.Page{Limit: 10, SortKey: "id"}})
				if err != nil || len(list) != 2 {
					t.Errorf("in the unit there are %d nodes, %v", len(list), err)
				}
				return ends
			})
			if !errors.Is(err, ends) {
				t.Fatalf("it ends with %v", err)
			}
			if done := ends == nil; there(t.Context(), "one") != done || there(t.Context(), "three") != done || there(t.Context(), "two") {
				t.Errorf("after an end with %v: one %t, two %t", ends, there(t.Context(), "one"), there(t.Context(), "two"))
			}
		}
	})
}

// A Write's own reads go through its Tx: with all connections in such hands,
// nobody would ever get a second one.
func TestAReadBesideItsWriteIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for what, read := range map[string]func() error{
				"node":       func() error { _, err := s.Node(ctx, "one"); return err },
				"nodes":      func() error { _, err := s.Nodes(ctx, store.NodeQuery{}); return err },
				"conductors": func() error { _, err := s.Conductors(ctx); return err },
			} {
				if err := read(); err == nil || !strings.Contains(err.Error(), "ask its Tx") {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := tx.Conductors(ctx)
			return err
		})
	})
}

func TestAUnitWakesNobodyBeforeItsEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		wakes, cancel := s.Subscribe(store.AgentTopic("a"))
		defer cancel()
		err := s.Unit(t.Context(), func(ctx context.Context, _ *store.Tx) error {
			err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				n := metal.Node{UUID: storetest.UUID(), Driver: "fake-hardware", ProvisionState: metal.Enroll}
				if err := tx.InsertNode(ctx, &n); err != nil {
					return err
				}
				return tx.InsertCommand(ctx, &metal.CommandRecord{ID: storetest.UUID(), NodeUUID: n.UUID, AgentID: "a"})
			})
			select {
			case <-wakes:
				t.Error("woken before the end")
			default:
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		<-wakes
	})
}

// Of many that add the same answer at once, one does, and the others see it.
func TestAnAnswerIsAddedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const many = 8
		fresh := make(chan bool, many)
		for range many {
			go func() {
				var added bool
				err := s.Unit(t.Context(), func(ctx context.Context, tx *store.Tx) error {
					a := store.KeptAnswer{ID: "id", Sealed: []byte("sealed")}
					var err error
					if added, err = tx.AddKeptAnswer(ctx, &a); err != nil {
						return err
					}
					kept, err := s.KeptAnswer(ctx, "id")
					if err == nil && string(kept.Sealed) != "sealed" {
						t.Errorf("kept is %q", kept.Sealed)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
				fresh <- added
			}()
		}
		added := 0
		for range many {
			if <-fresh {
				added++
			}
		}
		if added != 1 {
			t.Errorf("added %d times", added)
		}
	})
}

func TestOnlyTheNewestAnswersOfACallerAreKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		add := func(id string) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AddKeptAnswer(ctx, &store.KeptAnswer{ID: id, Sealed: []byte("some")})
				return err
			})
		}
		add("bb00")
		for i := range 6 {
			add(fmt.Sprintf("aa0%d", i))
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for keep, want := range map[int]int64{10: 0, 6: 0} {
				if n, err := tx.DropOlderAnswers(ctx, "aa", keep); n != want || err != nil {
					t.Errorf("keeping %d: %d dropped, %v", keep, n, err)
				}
			}
			if n, err := tx.DropOlderAnswers(ctx, "aa", 2); n != 4 || err != nil {
				t.Errorf("%d dropped, %v", n, err)
			}
			for _, id := range []string{"aa04", "aa05", "bb00"} {
				if _, err := tx.KeptAnswer(ctx, id); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
			return nil
		})
	})
}

func TestKeptAnswersAreForgotten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, id := range []string{"a", "b", "c"} {
				if added, err := tx.AddKeptAnswer(ctx, &store.KeptAnswer{ID: id, Sealed: []byte("none")}); err != nil || !added {
					t.Errorf("%s: added %t, %v", id, added, err)
				}
			}
			if err := tx.SetKeptAnswer(ctx, &store.KeptAnswer{ID: "a", Sealed: []byte("some")}); err != nil {
				return err
			}
			if a, err := tx.KeptAnswer(ctx, "a"); err != nil || string(a.Sealed) != "some" || a.CreatedAt.IsZero() {
				t.Errorf("kept %+v, %v", a, err)
			}
			if err := tx.DropKeptAnswer(ctx, "a"); err != nil {
				return err
			}
			if n, err := tx.DropKeptAnswers(ctx, time.Now().Add(-time.Hour), 10); n != 0 || err != nil {
				t.Errorf("%d dropped, %v", n, err)
			}
			if n, err := tx.DropKeptAnswers(ctx, time.Now().Add(time.Hour), 1); n != 1 || err != nil {
				t.Errorf("%d dropped, %v", n, err)
			}
			return nil
		})
	})
}
