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

	"github.com/riverqueue/river"
	"github.com/uptrace/bun"

	"ferrule/metal"
	"ferrule/migrations"
)

// Config says where the database is.
type Config struct {
	// DSN is sqlite:///absolute/path or postgresql://user@host/database.
	DSN string
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
}

// Open connects; it creates nothing but, with SQLite, the file.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	db, err := openDatabase(ctx, cfg.DSN, cfg.Logger)
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
	if db.pool != nil {
		s.running.Go(func() { s.listen(background) })
	}
	return s, nil
}

// Migrate brings the schema to the newest version. Several processes may call
// it at once.
func (s *Store) Migrate(ctx context.Context) error {
	return s.db.exclusively(ctx, func() error {
		if err := s.refuseIronics(ctx); err != nil {
			return err
		}
		if err := migrations.Up(ctx, s.db.writer, s.db.name); err != nil {
			return err
		}
		return s.migrateJobs(ctx)
	})
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
func (s *Store) Shared() bool { return s.db.pool != nil }

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

type writing struct{}

// errNested saves from waiting for oneself: SQLite has one writer.
var errNested = errors.New("store: Write within Write; pass the Tx on instead")

// The pauses between tries of a transaction that the engine turned down.
const (
	mostTries  = 10
	firstPause = 2 * time.Millisecond
	mostPause  = 250 * time.Millisecond
)

// Write runs f in one transaction and, where the engine turns the transaction
// down for the sake of another, runs f again from the start. What the
// transaction woke is woken after its commit.
func (s *Store) Write(ctx context.Context, f func(ctx context.Context, tx *Tx) error) error {
	if ctx.Value(writing{}) != nil {
		return errNested
	}
	if tx := unitOf(ctx); tx != nil {
		return tx.part(ctx, f)
	}
	inner := context.WithValue(ctx, writing{}, true)
	pause := firstPause
	for try := 1; ; try++ {
		wakes, err := s.once(inner, f)
		if err == nil {
			s.hub.wake(wakes...)
			return nil
		}
		if !s.db.retryable(err) && !errors.Is(err, errTogether) || try == mostTries {
			return s.db.outages.seen(err)
		}
		s.logger.DebugContext(ctx, "transaction runs again", "try", try, "error", err)
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
		pause = min(2*pause, mostPause)
	}
}

func (s *Store) once(ctx context.Context, f func(ctx context.Context, tx *Tx) error) (wakes []Topic, err error) {
	if s.db.pool == nil {
		err = s.together.write(ctx, func(sqlTx *sql.Tx) error {
			// A statement that is cut short may take the whole transaction along.
			tx := s.transaction(sqlTx)
			err := f(context.WithoutCancel(ctx), tx)
			wakes = tx.wakes
			return err
		})
		return wakes, err
	}
	sqlTx, err := s.db.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("begin a transaction: %w", err)
	}
	defer sqlTx.Rollback() //nolint:errcheck // after a commit it does nothing
	tx := s.transaction(sqlTx)
	if err := f(ctx, tx); err != nil {
		return nil, err
	}
	if err := tx.announce(ctx); err != nil {
		return nil, err
	}
	if err := sqlTx.Commit(); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return tx.wakes, nil
}

func (s *Store) transaction(sqlTx *sql.Tx) *Tx {
	c := s.db.onWriter()
	c.tx = sqlTx
	return &Tx{reads: reads{c: c, builder: s.builder}, store: s, tx: sqlTx}
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
