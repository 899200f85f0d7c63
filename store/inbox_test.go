package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func post(t *testing.T, s *store.Store, nodeUUID string, payload metal.JSON) {
	t.Helper()
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.Post(ctx, nodeUUID, metal.InboxHeartbeat, payload)
	})
}

func take(t *testing.T, s *store.Store, nodeUUID string) []metal.JSON {
	t.Helper()
	var got []metal.JSON
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
		got = nil
		entries, err := tx.TakeInbox(ctx, nodeUUID)
		for _, e := range entries {
			got = append(got, e.Payload)
		}
		return err
	})
	return got
}

func TestEventsAreTakenOnceAndInTheirOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n, other := storetest.Node(t, s, nil), storetest.Node(t, s, nil)
		for _, p := range []metal.JSON{`1`, `{"b":1,"a":2}`, `3`} {
			post(t, s, n.UUID, p)
		}
		post(t, s, other.UUID, `"other"`)
		if diff := cmp.Diff([]metal.JSON{`1`, `{"b":1,"a":2}`, `3`}, take(t, s, n.UUID)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if got := take(t, s, n.UUID); got != nil {
			t.Errorf("taken twice: %v", got)
		}
		post(t, s, n.UUID, `4`)
		if diff := cmp.Diff([]metal.JSON{`4`}, take(t, s, n.UUID)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.Post(ctx, storetest.UUID(), metal.InboxVerb, "{}")
		})
		wantRefusal(t, err, metal.NotFound, "could not be found")
	})
}

func TestAnUpdateOfTheNodeLeavesTheWakeMarkAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Post(ctx, n.UUID, metal.InboxVerb, "{}"); err != nil {
				return err
			}
			return tx.UpdateNode(ctx, &n) // n.Wake is false still
		})
		if got, err := s.Node(t.Context(), n.UUID); err != nil || !got.Wake {
			t.Errorf("wake %v, %v", got.Wake, err)
		}
	})
}

// advancer takes inboxes as the conductor does, and counts what it gets.
type advancer struct {
	river.WorkerDefaults[store.AdvanceArgs]
	store *store.Store
	mu    sync.Mutex
	seen  map[metal.JSON]int
	all   chan struct{} // closed when want different events were seen
	want  int
}

func (a *advancer) Work(ctx context.Context, job *river.Job[store.AdvanceArgs]) error {
	var entries []metal.InboxEntry
	err := a.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		node, err := tx.LockNode(ctx, job.Args.NodeUUID)
		if err != nil {
			return err
		}
		if entries, err = tx.TakeInbox(ctx, node.UUID); err != nil {
			return err
		}
		return tx.UpdateNode(ctx, node)
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range entries {
		a.seen[e.Payload]++
	}
	if len(entries) > 0 && len(a.seen) == a.want {
		close(a.all)
	}
	return nil
}

// timers posts what is due, as the conductor does.
type timers struct {
	river.WorkerDefaults[store.TimerArgs]
	store *store.Store
}

func (w *timers) Work(ctx context.Context, job *river.Job[store.TimerArgs]) error {
	return w.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Post(ctx, job.Args.NodeUUID, metal.InboxTimer, metal.ToJSON(
			metal.TimerPayload{OperationID: job.Args.OperationID, Deadline: job.Args.Deadline}))
	})
}

func work(t *testing.T, s *store.Store, want int) *advancer {
	t.Helper()
	a := &advancer{store: s, seen: map[metal.JSON]int{}, all: make(chan struct{}), want: want}
	workers := river.NewWorkers()
	river.AddWorker(workers, a)
	river.AddWorker(workers, &timers{store: s})
	w, err := s.Workers(store.WorkersConfig{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

func (a *advancer) wait(t *testing.T, limit time.Duration) {
	t.Helper()
	select {
	case <-a.all:
	case <-time.After(limit):
		a.mu.Lock()
		defer a.mu.Unlock()
		t.Fatalf("of %d events %d were handled", a.want, len(a.seen))
	}
}

func TestAThousandEventsAtANodeThatAdvancesAreEachHandledOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const posters, each = 20, 50
		n := storetest.Node(t, s, nil)
		a := work(t, s, posters*each)
		var all sync.WaitGroup
		for p := range posters {
			all.Go(func() {
				for e := range each {
					err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
						return tx.Post(ctx, n.UUID, metal.InboxHeartbeat, metal.JSON(fmt.Sprintf(`"%d/%d"`, p, e)))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		a.wait(t, time.Minute)
		a.mu.Lock()
		defer a.mu.Unlock()
		for payload, times := range a.seen {
			if times != 1 {
				t.Errorf("%s was handled %d times", payload, times)
			}
		}
	})
}

func TestAnEventWakesItsWorkerAtOnceAndATimerWhenItIsDue(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		a := work(t, s, 2)
		deadline := time.Now().UTC()
		post(t, s, n.UUID, `"verb"`)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.SetTimer(ctx, n.UUID, metal.TimerPayload{OperationID: "op", Deadline: deadline})
		})
		a.wait(t, 30*time.Second)
		a.mu.Lock()
		defer a.mu.Unlock()
		timer := metal.ToJSON(metal.TimerPayload{OperationID: "op", Deadline: deadline})
		if a.seen[timer] != 1 {
			t.Errorf("got %v, want %s", a.seen, timer)
		}
	})
}

func TestForgottenEventsAreFoundAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.Post(ctx, n.UUID, metal.InboxVerb, `"x"`)
		})
		rewake := func(olderThan time.Time) (found int) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				found, err = tx.Rewake(ctx, olderThan)
				return err
			})
			return found
		}
		if got := rewake(time.Now().Add(-time.Hour)); got != 0 {
			t.Errorf("an hour ago %d nodes waited", got)
		}
		for range 3 { // its job waits, and another would not come sooner
			if got := rewake(time.Now().Add(time.Hour)); got != 0 {
				t.Errorf("%d nodes were woken that have a job", got)
			}
		}
		if err := s.DropJobs(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := rewake(time.Now().Add(time.Hour)); got != 1 {
			t.Errorf("%d nodes wait, want 1", got)
		}
		post(t, s, n.UUID, `"y"`)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			jobs, err := tx.AdvanceJobs(ctx)
			if jobs[n.UUID] != 1 {
				t.Errorf("%d jobs come for the node, want 1", jobs[n.UUID])
			}
			return err
		})
	})
}
