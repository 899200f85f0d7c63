package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/riverqueue/river"
	"github.com/uptrace/bun"

	"ferrule/metal"
	"ferrule/migrations"
)

// Config says where the database is.
type Config struct {
	// DSN is sqlite:///absolute/path or postgresql://user@host/database.
	DSN string
	// MaxConnections is the most connections to PostgreSQL; 0: 24. An address
	// that says fewer (pool_max_conns) wins.
	MaxConnections int
	// Logger defaults to slog.Default().
	Logger *slog.Logger
	// Now defaults to time.Now; what the store dates is dated by it.
	Now func() time.Time
}

// Store is an open database. All its methods may be called at the same time.
type Store struct {
	reads
	db      *database
	builder *bun.DB
	jobs    *river.Client[*sql.Tx] // inserts only
	hub     *hub
	roster  *roster
	logger  *slog.Logger
	now     func() time.Time
	lastID  *atomic.Int64
	units   chan struct{} // one for each Unit
	nodes   *nodeLocks    // PostgreSQL only

	together *together // SQLite only

	stop    context.CancelFunc
	running sync.WaitGroup
}

// reads are the methods that *Store and *Tx have in common.
type reads struct {
	c       conn
	builder *bun.DB
}

// Tx is one transaction of Store.Write.
type Tx struct {
	reads
	store *Store
	tx    *sql.Tx
	wakes []Topic

	holding *holding
	// broken is why the whole transaction must be run again, whatever the code
	// that met the error made of it.
	broken error
}

// Open connects; it creates nothing but, with SQLite, the file.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	db, err := openDatabase(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Store{
		db: db, builder: bun.NewDB(db.writer, db.bun), hub: newHub(),
		logger: cfg.Logger, now: cfg.Now, lastID: new(atomic.Int64), units: make(chan struct{}, db.mostUnits()),
	}
	s.roster, s.together = newRoster(s.hub), &together{db: db}
	s.reads = reads{c: db.onReaders(), builder: s.builder}
	if s.jobs, err = newInserter(db, cfg.Logger); err != nil {
		return nil, errors.Join(err, db.close())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop = stop
	if db.pools != nil {
		s.nodes = newNodeLocks()
		s.running.Go(func() { s.listen(background) })
	}
	return s, nil
}

// Migrate brings the schema to the newest version. Several processes may call
// it at once.
func (s *Store) Migrate(ctx context.Context) error {
	if s.db.pools == nil {
		return s.migrate(ctx, s.db.writer, nil)
	}
	return s.db.pools.exclusively(ctx, func(pool *pgxpool.Pool) error {
		db := stdlib.OpenDBFromPool(pool)
		return errors.Join(s.migrate(ctx, db, pool), db.Close())
	})
}

// migrate uses the pool on PostgreSQL and db on SQLite for the job queue.
func (s *Store) migrate(ctx context.Context, db *sql.DB, pool *pgxpool.Pool) error {
	if err := s.refuseIronics(ctx); err != nil {
		return err
	}
	if s.db.file != nil {
		if err := s.db.file.begin(ctx, db); err != nil {
			return err
		}
	}
	if err := migrations.Up(ctx, db, s.db.name); err != nil {
		return err
	}
	return s.migrateJobs(ctx, pool)
}

// refuseIronics keeps away from the database of a real Ironic, which an
// ironic.conf may name: its tables have the same names and other columns.
func (s *Store) refuseIronics(ctx context.Context) error {
	var version string
	err := s.db.writer.QueryRowContext(ctx, "SELECT version_num FROM alembic_version").Scan(&version)
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return metal.Errorf(metal.Conflict,
			"The database is a real Ironic's, which is neither read nor changed. Give [store] connection one of Ferrule's own.")
	}
	return ctx.Err() // there is no such table
}

// Shared says whether other processes may use the database too.
func (s *Store) Shared() bool { return s.db.pools != nil }

// Ping checks that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.db.reader.PingContext(ctx); err != nil {
		return fmt.Errorf("reach the database: %w", s.db.outages.seen(err))
	}
	return nil
}

// Close ends all connections; nobody may use the store any more.
func (s *Store) Close() error {
	s.stop()
	s.running.Wait()
	return s.db.close()
}

func (tx *Tx) now() time.Time { return tx.store.now().UTC().Truncate(time.Microsecond) }

// newID is a key that grows with time: microseconds, ten random bits, and
// never twice the same in one process.
func (tx *Tx) newID() int64 {
	fresh := tx.store.now().UnixMicro()<<10 | rand.Int64N(1<<10)
	for {
		last := tx.store.lastID.Load()
		next := max(fresh, last+1)
		if tx.store.lastID.CompareAndSwap(last, next) {
			return next
		}
	}
}
