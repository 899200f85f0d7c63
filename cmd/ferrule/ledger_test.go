package main

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"ferrule/metal"
	"ferrule/store"
)

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
