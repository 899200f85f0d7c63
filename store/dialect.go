package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"ferrule/metal"
	"ferrule/migrations"
)

// dialect is all in which the engines differ.
type dialect struct {
	name     migrations.Dialect
	bun      schema.Dialect
	lock     string // ends a SELECT that takes the row for writing
	textOnly []any  // arguments that keep a text of its own out of the statement cache
	outages  *outages

	retryable func(error) bool
	// duplicate reports a unique violation, and the index's name where the
	// engine tells it.
	duplicate func(error) (index string, ok bool)
	// numbered engines want $1 where the texts here say ?.
	numbered bool
	texts    sync.Map // text with ? → text as the engine wants it
}

// database is the open connections of one engine.
type database struct {
	*dialect
	writer *sql.DB
	reader *sql.DB
	pools  *pools // PostgreSQL only
	reach  *reach // PostgreSQL only

	written, read *statements // SQLite only
	file          *sqliteFile // SQLite only
}

func (db *database) onReaders() conn {
	return conn{dialect: db.dialect, db: db.reader, prepared: db.read}
}

func (db *database) onWriter() conn {
	return conn{dialect: db.dialect, db: db.writer, prepared: db.written}
}

func (d *dialect) text(t string) string {
	if !d.numbered {
		return t
	}
	if known, ok := d.texts.Load(t); ok {
		return known.(string)
	}
	var b strings.Builder
	n := 0
	for _, r := range t {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	d.texts.Store(t, b.String())
	return b.String()
}

func openDatabase(ctx context.Context, cfg Config) (*database, error) {
	scheme, path, _ := strings.Cut(cfg.DSN, "://")
	switch scheme {
	case "sqlite":
		return openSQLite(ctx, path, &outages{logger: cfg.Logger})
	case "postgresql", "postgres":
		return openPostgres(ctx, cfg, &outages{logger: cfg.Logger})
	}
	return nil, errors.New("open database: the connection must begin with sqlite:// or postgresql://")
}

// SQLite has one writer at a time; a second one would only wait, so there is
// one writing connection, whose transactions take the lock at once. Readers
// work beside it on the write-ahead log. synchronous(FULL): what was accepted
// survives a power cut, not only a kill; it costs one fsync a commit.
func openSQLite(ctx context.Context, path string, o *outages) (*database, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("open database: want sqlite:///absolute/path")
	}
	path = filepath.Clean(path) // the four slashes of SQLAlchemy are as good
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	file := sqliteFile{path}
	if err := file.check(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &database{
		dialect: &dialect{
			name: migrations.SQLite, bun: sqlitedialect.New(), outages: o,
			retryable: sqliteRetryable, duplicate: sqliteDuplicate,
		},
		written: newStatements(), read: newStatements(), file: &file,
	}
	// A commit is as durable by fdatasync, which is what SQLite's own builds use,
	// and spares the file system the journal of the file's times.
	if _, err := sqlite.Fdatasync(true); err != nil && !errors.Is(err, sqlite.ErrFdatasyncUnavailable) {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pragmas := []string{
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
		"wal_autocheckpoint(4000)", // 16 MiB: pages that every write touches are carried over once in a while
	}
	if db.writer, err = sqliteConnections(path, pragmas, 1); err != nil {
		return nil, err
	}
	if err := file.checkContent(ctx, db.writer); err != nil {
		return nil, errors.Join(err, file.end(), db.writer.Close())
	}
	readers := max(4, runtime.GOMAXPROCS(0))
	if db.reader, err = sqliteConnections(path, append(pragmas, "query_only(1)"), readers); err != nil {
		return nil, errors.Join(err, file.end(), db.writer.Close())
	}
	return db, nil
}

func sqliteConnections(path string, pragmas []string, most int) (*sql.DB, error) {
	q := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	source := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	return db, nil
}

func (db *database) close() error {
	var err error
	if db.file != nil {
		err = errors.Join(db.reader.Close(), db.file.end()) // on the writer, while nobody else has the file open
	}
	err = errors.Join(err, db.writer.Close(), db.reader.Close())
	if db.pools != nil {
		db.pools.close()
	}
	return err
}

func sqliteRetryable(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

func sqliteDuplicate(err error) (string, bool) {
	var e *sqlite.Error
	ok := errors.As(err, &e) &&
		(e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
	return "", ok
}

// What PostgreSQL ends a transaction with for the sake of others: nothing of it
// was done, and it may be run again from the start.
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03" // lock_timeout
	idleInTransaction    = "25P03" // idle_in_transaction_session_timeout
	transactionTimeout   = "25P04"
)

var retryableCodes = []string{serializationFailure, deadlockDetected, lockNotAvailable, idleInTransaction, transactionTimeout}

func postgresRetryable(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && slices.Contains(retryableCodes, e.Code)
}

// isLockTimeout reports a lock that another transaction held for too long.
func isLockTimeout(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == lockNotAvailable
}

func postgresDuplicate(err error) (string, bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != "23505" {
		return "", false
	}
	return e.ConstraintName, true
}

// asOrphan says for the user that what a row belongs to went between the
// request's look at it and its write. Who sends the request again is told what
// is not there.
func asOrphan(err error) error {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	orphan := errors.As(err, &lite) && lite.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY ||
		errors.As(err, &pg) && pg.Code == "23503"
	if !orphan {
		return err
	}
	return &metal.Error{Reason: metal.Conflict, Text: "What this belongs to was deleted by another request meanwhile.", Cause: err}
}
