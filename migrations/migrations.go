// Package migrations holds the schema: SQL that goose applies, the same text
// for both engines, forward only. It knows nothing of what the rows mean; the
// job queue's own tables are the store's business.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var files embed.FS

// Dialect names an engine.
type Dialect string

// The engines.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
)

// byteText is the type of the schema's text columns on PostgreSQL: the same
// order of strings as on SQLite whatever the database's locale. On SQLite any
// type name with TEXT in it will do.
const byteText = `DO $$ BEGIN
	IF NOT EXISTS (SELECT 1 FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
			WHERE t.typname = 'ctext' AND n.nspname = current_schema()) THEN
		CREATE DOMAIN ctext AS text COLLATE "C";
	END IF;
END $$`

// Up brings the schema to the newest version. On PostgreSQL the caller sees to
// it that nobody else migrates at the same time.
func Up(ctx context.Context, db *sql.DB, dialect Dialect) error {
	d := goose.DialectSQLite3
	if dialect == Postgres {
		d = goose.DialectPostgres
		if _, err := db.ExecContext(ctx, byteText); err != nil {
			return fmt.Errorf("create the text type: %w", err)
		}
	}
	p, err := goose.NewProvider(d, db, files, goose.WithTableName("schema_versions"),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	return nil
}
