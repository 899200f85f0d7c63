// Package storetest gives each test a database of its own, migrated, so that
// all of them run side by side.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/compat-tests/env"
	"ferrule/metal"
	"ferrule/store"
)

// Each runs f on both engines at the same time; in a short run on SQLite alone.
func Each(t *testing.T, f func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		if testing.Short() {
			t.Skip("needs PostgreSQL")
		}
		t.Parallel()
		f(t, Postgres(t))
	})
}

// SQLite gives a new store in a file of the test's folder.
func SQLite(t testing.TB) *store.Store {
	t.Helper()
	return Open(t, "sqlite://"+filepath.Join(t.TempDir(), "ferrule.sqlite"))
}

// Postgres gives a new store in a database of the throw-away server.
func Postgres(t testing.TB) *store.Store {
	t.Helper()
	return Open(t, env.Postgres(t)+"&pool_max_conns=10")
}

// Open opens and migrates the database, and closes it with the test.
func Open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	ctx := context.Background()
	logger := slog.New(slog.NewTextHandler(writer{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := store.Open(ctx, store.Config{DSN: dsn, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

type writer struct{ t testing.TB }

func (w writer) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// UUID is a new random one.
func UUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Node adds a node of fake hardware, after change (which may be nil).
func Node(t testing.TB, s *store.Store, change func(*metal.Node)) metal.Node {
	t.Helper()
	n := metal.Node{UUID: UUID(), Driver: "fake-hardware", ProvisionState: metal.Enroll}
	if change != nil {
		change(&n)
	}
	Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertNode(ctx, &n) })
	return n
}

// Write is Store.Write that must succeed.
func Write(t testing.TB, s *store.Store, f func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

// Sealed is a value that needs no key: it is stored as it is.
func Sealed(value string) store.Seal {
	return func(string, int64) ([]byte, error) { return []byte(value), nil }
}
