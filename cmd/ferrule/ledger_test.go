package main

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
	"ferrule/trust"
)

// A sealed value that was moved in the database does not open: not under another
// ref, not as another version of its own.
func TestASwappedSecretDoesNotOpen(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		sealer, err := trust.OpenSealer(filepath.Join(t.TempDir(), "key"))
		if err != nil {
			t.Fatal(err)
		}
		l := ledger{store: s, sealer: sealer, log: slog.New(slog.DiscardHandler)}
		victim := metal.DriverInfoSecrets(storetest.Node(t, s, nil).UUID).Below("redfish_password").Ref()
		mine := storetest.Node(t, s, nil).UUID
		put := func(ref, node string, seal store.Seal) {
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant", NodeUUID: node}, seal)
				return err
			})
		}
		put(victim, "", func(ref string, version int64) ([]byte, error) {
			return sealer.Seal(metal.SecretName(ref, version, ""), []byte("the victim's"))
		})
		stolen, err := s.SealedSecret(t.Context(), victim)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := l.Secret(t.Context(), victim, ""); err != nil || string(got) != "the victim's" {
			t.Fatalf("%q, %v", got, err)
		}
		swapped := func(string, int64) ([]byte, error) { return stolen.Sealed, nil }
		own := metal.DriverInfoSecrets(mine).Below("redfish_password").Ref()
		put(own, mine, swapped)  // another owner
		put(victim, "", swapped) // another version
		other := metal.InstanceInfoSecrets(mine).Below("x").Ref()
		put(other, mine, swapped) // another owner and place
		for _, ref := range []string{own, victim, other} {
			if got, err := l.Secret(t.Context(), ref, ""); !errors.Is(err, trust.ErrNotOpened) {
				t.Errorf("%s gives %q, %v", ref, got, err)
			}
		}
	})
}

func TestTheFirstResultIsKeptWithItsProof(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ferrule.sqlite")
	s, err := store.Open(t.Context(), store.Config{DSN: "sqlite://" + file})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertCommand(ctx, &metal.CommandRecord{ID: "c", AgentID: "a", Kind: metal.KindQuery, Operation: metal.PowerGet, ExpiresAt: time.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger{store: s, log: slog.New(slog.DiscardHandler)}
	for _, proof := range []string{"first", "second"} {
		if err := l.SaveResult(t.Context(), "a", metal.CommandResult{CommandID: "c", OK: proof == "first"}, proof); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.SaveResult(t.Context(), "another", metal.CommandResult{CommandID: "c"}, "theirs"); metal.ReasonOf(err) != metal.NotFound {
		t.Errorf("another agent's result: %v", err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var proof string
	if err := db.QueryRowContext(t.Context(), "SELECT proof FROM commands WHERE id = 'c'").Scan(&proof); err != nil || proof != "first" {
		t.Errorf("proof %q, %v", proof, err)
	}
	if c, err := s.Command(t.Context(), "c"); err != nil || c.Result == nil || !c.Result.OK {
		t.Errorf("result %+v, %v", c.Result, err)
	}
}

// Observations lock the nodes in the order of their UUIDs, however they were
// sent, and in bounded batches: one that fails undoes no more than its own.
func TestObservationsAreTakenInOrderAndInBatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		l := ledger{store: s, log: slog.New(slog.DiscardHandler)}
		var nodes []string
		var seen []link.Observation
		for range observedBatch + 1 {
			n := storetest.Node(t, s, nil)
			nodes = append(nodes, n.UUID)
			seen = append(seen, link.Observation{Kind: link.ObservedPower, NodeUUID: n.UUID, PowerState: metal.PowerOn, SeenAt: time.Now()})
		}
		slices.Sort(nodes)
		slices.SortFunc(seen, func(a, b link.Observation) int { return strings.Compare(b.NodeUUID, a.NodeUUID) })
		seen = append(seen, link.Observation{Kind: link.ObservedPower, NodeUUID: "~\x00", SeenAt: time.Now()}) // no engine takes it
		if err := l.Observed(t.Context(), trust.AgentName{ID: "a"}, seen); err == nil {
			t.Error("an observation that cannot be stored was taken")
		}
		var last int64
		for i, uuid := range nodes {
			var entries []metal.InboxEntry
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
				entries, err = tx.TakeInbox(ctx, uuid)
				return err
			})
			if i >= observedBatch {
				continue // of the batch that failed
			}
			if len(entries) != 1 || entries[0].ID < last {
				t.Fatalf("node %d of %d has the entries %+v, the one before %d", i, len(nodes), entries, last)
			}
			last = entries[0].ID
		}
	})
}
