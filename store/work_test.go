package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestANodeDoesOneThingAtATimeOnEachAxis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		n := storetest.Node(t, s, nil)
		open := func(axis metal.Axis) (metal.OperationRecord, error) {
			o := metal.OperationRecord{
				ID: storetest.UUID(), NodeUUID: n.UUID, Axis: axis, Verb: "clean", Args: `{"clean_steps":[]}`,
				RequestID: "req-1", User: ptr("u"), Deadline: ptr(time.Now().UTC().Truncate(time.Microsecond)),
			}
			return o, s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.OpenOperation(ctx, &o) })
		}
		first, err := open(metal.AxisProvision)
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(metal.AxisProvision)
		wantRefusal(t, err, metal.Conflict, n.UUID)
		power, err := open(metal.AxisPower)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.OpenOperations(ctx, n.UUID)
		if diff := cmp.Diff([]metal.OperationRecord{power, first}, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		first.Plan, first.Deadline = `{"cursor":1}`, nil
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SaveOperation(ctx, &first) })
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.CloseOperation(ctx, &first) })
		closed, err := s.Operation(ctx, first.ID)
		if diff := cmp.Diff(first, closed); err != nil || diff != "" || closed.FinishedAt == nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		if _, err = open(metal.AxisProvision); err != nil {
			t.Error(err)
		}
	})
}

func insertCommand(t *testing.T, s *store.Store, agent string) metal.CommandRecord {
	t.Helper()
	at := time.Now().UTC().Truncate(time.Microsecond)
	c := metal.CommandRecord{
		ID: storetest.UUID(), AgentID: agent, Kind: metal.KindPower, Operation: metal.PowerSet,
		Envelope: `{"payload":"<&>"}`, IssuedAt: at, ExpiresAt: at.Add(time.Minute),
	}
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertCommand(ctx, &c) })
	return c
}

func ids(list []metal.CommandRecord) []string {
	var all []string
	for _, c := range list {
		all = append(all, c.ID)
	}
	return all
}

func TestAnAgentSeesItsCommandsUntilTheyAreDone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		wakes, cancel := s.Subscribe(store.AgentTopic("a"))
		defer cancel()
		one, two := insertCommand(t, s, "a"), insertCommand(t, s, "a")
		select {
		case <-wakes:
		case <-time.After(10 * time.Second):
			t.Error("the agent's stream was not woken")
		}
		other := insertCommand(t, s, "b")
		if got, err := s.Command(ctx, one.ID); err != nil || cmp.Diff(one, got) != "" {
			t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(one, got))
		}
		deliver := func(agent string, after int64, want ...metal.CommandRecord) {
			t.Helper()
			list, err := s.DeliverCommands(ctx, agent, after, 10)
			if diff := cmp.Diff(ids(want), ids(list)); err != nil || diff != "" {
				t.Errorf("after %d: %v, -want +got:\n%s", after, err, diff)
			}
			for i, c := range list {
				if c.Seq != after+int64(i)+1 || c.Status != metal.CommandSent {
					t.Errorf("command %d after %d has number %d and is %s", i, after, c.Seq, c.Status)
				}
			}
		}
		deliver("a", 0, one, two)
		deliver("a", 0, one, two) // delivered, but not done
		deliver("a", 1, two)
		deliver("a", 2)
		deliver("b", 0, other)
		three := insertCommand(t, s, "a")
		deliver("a", 2, three)
	})
}

// Commands of a node keep the order of their commits, though the clock of the
// process that issues the later one is behind.
func TestANodesCommandsAreDeliveredInTheirOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		at := time.Now().UTC().Truncate(time.Microsecond)
		var want []metal.CommandRecord
		for _, behind := range []time.Duration{0, 0, time.Second, -time.Second} {
			c := metal.CommandRecord{ID: storetest.UUID(), NodeUUID: n.UUID, AgentID: "a", IssuedAt: at.Add(-behind), ExpiresAt: at}
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertCommand(ctx, &c) })
			want = append(want, c)
		}
		queued, err := s.QueuedCommandsOf(t.Context(), n.UUID, "a")
		if diff := cmp.Diff(ids(want), ids(queued)); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		delivered, err := s.DeliverCommands(t.Context(), "a", 0, 10)
		if diff := cmp.Diff(ids(want), ids(delivered)); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
}

func TestTheFirstResultOfACommandCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c := insertCommand(t, s, "a")
		wakes, cancel := s.Subscribe(store.CommandTopic(c.ID))
		defer cancel()
		finish := func(r metal.CommandResult) (first bool) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				if first, err = tx.FinishCommand(ctx, c.ID, r); err != nil {
					return err
				}
				return tx.KeepProof(ctx, c.ID, "envelope")
			})
			return first
		}
		want := metal.CommandResult{
			CommandID: c.ID, OK: true, ResultJSON: json.RawMessage(`{"state":"power on"}`),
			FinishedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		}
		if !finish(want) {
			t.Error("the first result was not taken")
		}
		select {
		case <-wakes:
		case <-time.After(10 * time.Second):
			t.Error("who waits for the result was not woken")
		}
		if finish(metal.CommandResult{CommandID: c.ID, ErrorCode: metal.CodeUnreachable}) {
			t.Error("a second result was taken")
		}
		got, err := s.Command(t.Context(), c.ID)
		if err != nil || got.Status != metal.CommandDone || got.FinishedAt == nil {
			t.Fatalf("got %+v, %v", got, err)
		}
		if diff := cmp.Diff(&want, got.Result); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if list, err := s.DeliverCommands(t.Context(), "a", 0, 10); err != nil || len(list) != 0 {
			t.Errorf("%d commands are pending still, %v", len(list), err)
		}
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.FinishCommand(ctx, storetest.UUID(), want)
			return err
		})
		wantRefusal(t, err, metal.NotFound, "could not be found")
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			n, err := tx.DropCommands(ctx, time.Now().Add(time.Hour), 10)
			if n != 1 {
				t.Errorf("%d commands dropped, want 1", n)
			}
			return err
		})
	})
}

// However transactions overlap, a reader that follows the numbers meets every
// command once: beside it another one delivers to the same agent, as a session
// does that is not yet known to be dead, and takes the numbers of some.
func TestACursorPassesNoCommandBy(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, each = 8, 25
		var all, other sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range each {
					err := s.Write(context.Background(), func(ctx context.Context, tx *store.Tx) error {
						return tx.InsertCommand(ctx, &metal.CommandRecord{ID: storetest.UUID(), AgentID: "a"})
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		follow := func() {
			var cursor int64
			seen := map[string]bool{}
			for last := false; ; {
				list, err := s.DeliverCommands(t.Context(), "a", cursor, 7)
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range list {
					if c.Seq != cursor+1 || seen[c.ID] {
						t.Errorf("%d came after %d, seen before: %t", c.Seq, cursor, seen[c.ID])
					}
					cursor = c.Seq
					seen[c.ID] = true
				}
				if last && len(list) == 0 {
					break
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
			if len(seen) != writers*each {
				t.Errorf("%d of %d commands were seen", len(seen), writers*each)
			}
		}
		other.Go(follow)
		follow()
		other.Wait()
	})
}

func TestHistoryIsPagedAndTrimmed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		n := storetest.Node(t, s, nil)
		var full metal.HistoryEntry
		fill(t, &full)
		full.UUID, full.NodeUUID = storetest.UUID(), n.UUID
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.AddHistory(ctx, &full); err != nil {
				return err
			}
			for i := range 4 {
				h := metal.HistoryEntry{
					UUID: storetest.UUID(), NodeUUID: n.UUID, Severity: "INFO", Event: fmt.Sprint(i),
					CreatedAt: full.CreatedAt.Add(time.Duration(i+1) * time.Second),
				}
				if err := tx.AddHistory(ctx, &h); err != nil {
					return err
				}
			}
			return nil
		})
		got, err := s.HistoryEntry(ctx, n.UUID, full.UUID)
		if diff := cmp.Diff(full, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		_, err = s.HistoryEntry(ctx, storetest.UUID(), full.UUID)
		wantRefusal(t, err, metal.NotFound, full.UUID)
		page, err := s.History(ctx, n.UUID, store.HistoryQuery{Page: store.Page{Marker: full.UUID, Limit: 2}})
		if err != nil || len(page) != 2 || page[0].Event != "0" || page[1].Event != "1" {
			t.Errorf("got %v, %v", page, err)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.TrimHistory(ctx, n.UUID, 2) })
		page, err = s.History(ctx, n.UUID, store.HistoryQuery{Page: store.Page{SortKey: "event", Desc: true}})
		if err != nil || len(page) != 2 || page[0].Event != "3" || page[1].Event != "2" {
			t.Errorf("got %v, %v", page, err)
		}
	})
}

func TestTheLastInventoryCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		_, err := s.Inventory(t.Context(), n.UUID)
		wantRefusal(t, err, metal.NotFound, n.UUID)
		for _, text := range []metal.JSON{`{"cpu":{"count":8}}`, `{"cpu":{"count":18446744073709551616}}`} {
			want := metal.InventoryRecord{NodeUUID: n.UUID, Inventory: text, PluginData: `{}`}
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutInventory(ctx, &want) })
			got, err := s.Inventory(t.Context(), n.UUID)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		}
	})
}

// An agent is alive as long as the process that holds its session, and writes
// nothing of its own to show it.
func TestAnAgentIsAliveThroughItsProcess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		process := metal.Conductor{Hostname: "p", Online: true}
		agent := metal.Conductor{Hostname: "a", AgentID: "a", Through: "p", Online: true}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.UpsertConductor(ctx, &process), tx.UpsertConductor(ctx, &agent))
		})
		touch := func(host string, online bool) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.TouchConductor(ctx, host, online) })
		}
		signs := func() (ofProcess, ofAgent time.Time) {
			p, err := s.Conductor(ctx, "p")
			if err != nil {
				t.Fatal(err)
			}
			a, err := s.Conductor(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.Conductors(ctx)
			if err != nil || len(list) != 2 || !list[1].UpdatedAt.Equal(a.UpdatedAt) {
				t.Errorf("listed %+v, %v; alone %+v", list, err, a)
			}
			return p.UpdatedAt, a.UpdatedAt
		}
		touch("p", true)
		if p, a := signs(); !p.Equal(a) {
			t.Errorf("the process was seen at %s, its agent at %s", p, a)
		}
		before, _ := signs()
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.LeaveThrough(ctx, "p", before) })
		touch("p", true)
		if _, a := signs(); !a.Equal(before) {
			t.Errorf("without a session the agent was seen at %s, not %s", a, before)
		}
	})
}

func TestAConductorIsKnownByItsHost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		c := metal.Conductor{Hostname: "h1", ConductorGroup: "g", Drivers: []string{"fake-hardware"}, Online: true}
		upsert := func() {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpsertConductor(ctx, &c) })
		}
		upsert()
		first := c
		c.Drivers = []string{"redfish", "ipmi"}
		upsert()
		if c.ID != first.ID || !c.CreatedAt.Equal(first.CreatedAt) {
			t.Errorf("%+v became %+v", first, c)
		}
		got, err := s.Conductor(ctx, "h1")
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.TouchConductor(ctx, "h1", false) })
		list, err := s.Conductors(ctx)
		if err != nil || len(list) != 1 || list[0].Online {
			t.Errorf("got %+v, %v", list, err)
		}
		err = s.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.TouchConductor(ctx, "h2", true) })
		wantRefusal(t, err, metal.NotFound, "h2")
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConductor(ctx, "h1") })
		_, err = s.Conductor(ctx, "h1")
		wantRefusal(t, err, metal.NotFound, "h1")
	})
}
