package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun/dialect/pgdialect"

	"ferrule/metal"
	"ferrule/migrations"
)

// pools are the connections to PostgreSQL of one process. Each use has its own,
// so that a list or a health check never waits behind writers, and the job
// queue's bookkeeping behind neither.
type pools struct {
	write, read, jobs *pgxpool.Pool
	migrate           *pgxpool.Config // without the limits on sessions
}

// Connections of a process where nothing is said, and the fewest it works with:
// two that listen for notifications (ours and the job queue's), and two for
// each pool.
const (
	usualConnections  = 24
	fewestConnections = 8
	listening         = 2
)

// shares divides the connections of a process among the pools.
type shares struct{ write, read, jobs int32 }

func sharesOf(total int32) shares {
	rest := total - listening
	s := shares{read: max(2, rest/4), jobs: max(2, rest/8)}
	s.write = rest - s.read - s.jobs
	return s
}

// totalConnections is the smaller of what the option and the address say.
func totalConnections(option int, dsn string, parsed int32) (int32, error) {
	total := int32(usualConnections)
	if strings.Contains(dsn, "pool_max_conns") {
		total = parsed
		if option > 0 {
			total = min(total, int32(option))
		}
	} else if option > 0 {
		total = int32(option)
	}
	if total < fewestConnections {
		return 0, metal.Errorf(metal.Invalid, "The database may have %d connections of this process, and it needs %d. "+
			"Raise [store] max_connections, or pool_max_conns in the address.", total, fewestConnections)
	}
	return total, nil
}

func openPostgres(ctx context.Context, cfg Config, o *outages) (*database, error) {
	base, err := pgxpool.ParseConfig(cfg.DSN)
	if err != nil {
		return nil, errors.New("open database: the postgresql:// address cannot be read") // the cause may quote the password
	}
	total, err := totalConnections(cfg.MaxConnections, cfg.DSN, base.MaxConns)
	if err != nil {
		return nil, err
	}
	base.ConnConfig.DialFunc = newDialer().DialContext
	watch := newReach(o)
	watch.watch(base)
	p, err := openPools(ctx, base, sharesOf(total))
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &database{
		dialect: &dialect{
			name: migrations.Postgres, bun: pgdialect.New(), outages: o,
			lock:      " FOR NO KEY UPDATE",
			textOnly:  []any{pgx.QueryExecModeExec},
			retryable: postgresRetryable, duplicate: postgresDuplicate,
			numbered: true,
		},
		writer: stdlib.OpenDBFromPool(p.write), reader: stdlib.OpenDBFromPool(p.read), pools: p, reach: watch,
	}, nil
}

func openPools(ctx context.Context, base *pgxpool.Config, s shares) (_ *pools, err error) {
	p := &pools{migrate: base.Copy()}
	p.migrate.MaxConns = migrating
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	for _, one := range []struct {
		pool     **pgxpool.Pool
		most     int32
		replaced map[string]string
	}{
		{&p.write, s.write, nil},
		{&p.read, s.read, nil},
		{&p.jobs, s.jobs, map[string]string{lockTimeout: jobsLockTimeout}},
	} {
		cfg := base.Copy()
		cfg.MaxConns, cfg.AfterConnect = one.most, limitSession(one.replaced)
		cfg.MinConns, cfg.MinIdleConns = min(cfg.MinConns, one.most), min(cfg.MinIdleConns, one.most)
		if *one.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
			return nil, err
		}
	}
	return p, p.read.Ping(ctx)
}

func (p *pools) close() {
	for _, pool := range []*pgxpool.Pool{p.write, p.read, p.jobs} {
		if pool != nil {
			pool.Close()
		}
	}
}

// migrating is the connections of a migration: the lock, the schema's and the
// job queue's.
const migrating = 3

// migrationLock is the advisory lock that lets one process migrate at a time.
const migrationLock = 0x6665727275 // "ferru"

// exclusively runs f while no other process does. Its pool has no limits on
// sessions: an index of a large table takes its time.
func (p *pools) exclusively(ctx context.Context, f func(pool *pgxpool.Pool) error) error {
	pool, err := pgxpool.NewWithConfig(ctx, p.migrate.Copy())
	if err != nil {
		return fmt.Errorf("connect for migration: %w", err)
	}
	defer pool.Close()
	c, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("lock for migration: %w", err)
	}
	defer c.Release()
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return fmt.Errorf("lock for migration: %w", err)
	}
	err = f(pool)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if _, uerr := c.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(migrationLock)); uerr != nil {
		err = errors.Join(err, fmt.Errorf("unlock after migration: %w", uerr), c.Conn().Close(ctx))
	}
	return err
}
