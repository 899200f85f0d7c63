package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// crowd runs writes that all wait while the first has the turn, so that they
// share its transaction, and gives what became of each.
func crowd(t *testing.T, s *store.Store, writes ...func(ctx context.Context, tx *store.Tx) error) []error {
	t.Helper()
	ends := make([]error, len(writes))
	var all sync.WaitGroup
	for i, write := range writes {
		entered := make(chan struct{})
		all.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					ends[i] = fmt.Errorf("panic: %v", r)
				}
			}()
			first := i == 0
			ends[i] = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				if first {
					first = false
					close(entered)
					for s.Waiting() < len(writes)-1 {
						runtime.Gosched()
					}
				}
				return write(ctx, tx)
			})
		})
		if i == 0 {
			<-entered
		}
		for i < len(writes)-1 && s.Waiting() < i { // in this order; the last lets the first go on
			runtime.Gosched()
		}
	}
	all.Wait()
	return ends
}

func insert(name string) func(ctx context.Context, tx *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertNode(ctx, &metal.Node{UUID: storetest.UUID(), Name: &name, Driver: "fake-hardware", ProvisionState: metal.Enroll})
	}
}

// then is a write that goes wrong after its insert.
func then(name string, end func(ctx context.Context, tx *store.Tx) error) func(ctx context.Context, tx *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		if err := insert(name)(ctx, tx); err != nil {
			return err
		}
		return end(ctx, tx)
	}
}

func stored(t *testing.T, s *store.Store) []string {
	t.Helper()
	list, err := s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{SortKey: "name"}})
	if err != nil {
		t.Fatal(err)
	}
	return names(list)
}

func TestWritesThatShareATransactionFailAlone(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	fail := func(context.Context, *store.Tx) error { return failure }
	for at := range 4 {
		s := storetest.SQLite(t)
		writes := []func(ctx context.Context, tx *store.Tx) error{insert("a"), insert("b"), insert("c"), insert("d")}
		writes[at] = then("failed", fail)
		want := slices.Delete([]string{"a", "b", "c", "d"}, at, at+1)
		ends := crowd(t, s, writes...)
		for i, err := range ends {
			if (err != nil) != (i == at) || err != nil && !errors.Is(err, failure) {
				t.Errorf("%d fails: write %d ended with %v", at, i, err)
			}
		}
		if got := stored(t, s); !slices.Equal(got, want) {
			t.Errorf("%d fails: %v are stored, want %v", at, got, want)
		}
	}
}

func TestAPanicLeavesTheOthersTheirTransaction(t *testing.T) {
	t.Parallel()
	for at := range 3 {
		s := storetest.SQLite(t)
		writes := []func(ctx context.Context, tx *store.Tx) error{insert("a"), insert("b"), insert("c")}
		writes[at] = then("panicked", func(context.Context, *store.Tx) error { panic("in the middle") })
		ends := crowd(t, s, writes...)
		for i, err := range ends {
			if (err != nil) != (i == at) {
				t.Errorf("%d panics: write %d ended with %v", at, i, err)
			}
		}
		if got, want := stored(t, s), slices.Delete([]string{"a", "b", "c"}, at, at+1); !slices.Equal(got, want) {
			t.Errorf("%d panics: %v are stored, want %v", at, got, want)
		}
	}
}

// Nobody is told of a success that another write took along with it.
func TestWritesThatLoseTheirTransactionRunAgain(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	broken := errors.New("the engine gave up")
	ends := crowd(t, s, insert("a"), insert("b"), then("broken", func(ctx context.Context, tx *store.Tx) error {
		return errors.Join(broken, tx.Break(ctx))
	}), insert("c"))
	for i, err := range ends {
		if (err != nil) != (i == 2) || err != nil && !errors.Is(err, broken) {
			t.Errorf("write %d ended with %v", i, err)
		}
	}
	if got, want := stored(t, s), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("%v are stored, want %v", got, want)
	}
}

func TestACallerWhoGivesUpWhileWaitingIsLeftOut(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	storetest.Write(t, s, func(_ context.Context, _ *store.Tx) error {
		go func() { gaveUp <- s.Write(ctx, insert("late")) }()
		for s.Waiting() == 0 {
			runtime.Gosched()
		}
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		return nil
	})
	storetest.Write(t, s, insert("next"))
	if got := stored(t, s); !slices.Equal(got, []string{"next"}) {
		t.Errorf("%v are stored", got)
	}
}

// However many come and fail, what was done before them is committed in time.
func TestWritesThatFailDoNotHoldUpTheFirst(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	writes := []func(ctx context.Context, tx *store.Tx) error{insert("a")}
	var seen int
	for range 100 {
		writes = append(writes, func(context.Context, *store.Tx) error {
			if _, err := s.Node(t.Context(), "a"); err == nil {
				seen++
			}
			return errors.New("no")
		})
	}
	crowd(t, s, writes...)
	if seen == 0 {
		t.Error("the first was not committed before the last of a hundred")
	}
}

func TestACrowdOfWritesLosesNone(t *testing.T) {
	t.Parallel()
	s := storetest.SQLite(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 50 {
				name := fmt.Sprintf("n-%d-%02d", i, k)
				write := insert(name)
				if k%5 == 4 {
					write = then(name, func(context.Context, *store.Tx) error { return errors.New("no") })
				}
				if err := s.Write(t.Context(), write); (err != nil) != (k%5 == 4) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	all.Wait()
	if got := len(stored(t, s)); got != 8*40 {
		t.Errorf("%d are stored", got)
	}
}
