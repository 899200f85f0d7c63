package store_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/store"
)

// killed is a folder with a database as a killed process leaves it: a node is in
// the write-ahead log alone.
func killed(t *testing.T) string {
	t.Helper()
	from, to := t.TempDir(), t.TempDir()
	s := openFile(t, from)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

func openFile(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), store.Config{DSN: "sqlite://" + filepath.Join(dir, "f.db")})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestALostPartOfASQLiteDatabaseIsRefusedByName(t *testing.T) {
	empty := func(path string) error { return os.Truncate(path, 0) }
	for _, c := range []struct {
		name, file string
		harm       func(path string) error
		says       string // "": it opens
	}{
		{"log missing", "f.db-wal", os.Remove, "is missing"},
		{"log empty", "f.db-wal", empty, "is empty"},
		{"log without a head", "f.db-wal", func(path string) error { return os.Truncate(path, 20) }, "has only 20 bytes"},
		{"log garbled", "f.db-wal", garble, "is damaged"},
		{"log cut, as by a power cut", "f.db-wal", half, ""},
		{"database missing", "f.db", os.Remove, "is missing or empty"},
		{"database empty", "f.db", empty, "is missing or empty"},
		{"state missing", "f.db.state", os.Remove, ""},
		{"state empty", "f.db.state", empty, ""},
		{"state garbled", "f.db.state", garble, ""},
		{"index of the log missing", "f.db-shm", os.Remove, ""},
		{"index of the log garbled", "f.db-shm", garble, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := killed(t)
			path := filepath.Join(dir, c.file)
			if err := c.harm(path); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(t.Context(), store.Config{DSN: "sqlite://" + filepath.Join(dir, "f.db")})
			if err == nil {
				defer s.Close()
			}
			switch {
			case c.says == "" && err != nil:
				t.Errorf("it does not open: %v", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "put ")):
				t.Errorf("got %v; want that %s %s, and what to do", err, path, c.says)
			}
		})
	}
}

func TestADatabaseClosedInOrderNeedsNoLog(t *testing.T) {
	dir := killed(t)
	s := openFile(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f.db-wal")); !os.IsNotExist(err) {
		t.Errorf("the log after an end in order: %v", err)
	}
	s = openFile(t, dir)
	defer s.Close()
	if _, err := s.Sites(t.Context()); err != nil {
		t.Errorf("what was in the log: %v", err)
	}
}

func garble(path string) error {
	return os.WriteFile(path, bytes.Repeat([]byte("garbled "), 9000), 0o600)
}

func half(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/2)
}

func TestADamagedDatabaseIsRefused(t *testing.T) {
	for _, harm := range []func(path string) error{garble, half} {
		dir := t.TempDir()
		s := openFile(t, dir)
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "f.db")
		if err := harm(path); err != nil {
			t.Fatal(err)
		}
		for range 2 { // and again, with the same words
			s, err := store.Open(t.Context(), store.Config{DSN: "sqlite://" + path})
			if err == nil {
				_ = s.Close()
				t.Fatal("a damaged database was opened")
			}
			if !strings.Contains(err.Error(), "the file "+path+" is damaged") || !strings.Contains(err.Error(), "backup") {
				t.Errorf("it says %v", err)
			}
		}
	}
}

// Another program that opens the database of a killed process moves the log into
// it. The refusal says that nothing is lost then, and the way that it names works.
func TestADatabaseThatAnotherProgramOpenedGoesOn(t *testing.T) {
	dir := killed(t)
	db, err := sql.Open("sqlite", filepath.Join(dir, "f.db"))
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := errors.Join(db.QueryRowContext(t.Context(), "SELECT count(*) FROM nodes").Scan(&n), db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = store.Open(t.Context(), store.Config{DSN: "sqlite://" + filepath.Join(dir, "f.db")})
	if err == nil || !strings.Contains(err.Error(), "another program") {
		t.Fatalf("the start says %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "f.db.state")); err != nil {
		t.Fatal(err)
	}
	s := openFile(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
