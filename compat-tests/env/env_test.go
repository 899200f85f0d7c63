package env_test

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"ferrule/compat-tests/env"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", env.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestEachTestHasAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	for range 2 {
		db := open(t)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE only_mine (id text)"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheServerDoesNotCompareTextBytewise(t *testing.T) {
	t.Parallel()
	var bytewise bool
	if err := open(t).QueryRowContext(t.Context(), "SELECT 'B' < 'a'").Scan(&bytewise); err != nil {
		t.Fatal(err)
	}
	if bytewise {
		t.Error("a query that forgets its collation would not show itself")
	}
}
