package store

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"ferrule/compat-tests/env"
	"ferrule/metal"
)

// Each session has the limits that its server knows; the address's own win, in
// either of its forms; a migration has none.
func TestSessionsAreLimited(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	dsn := env.Postgres(t)
	for more, own := range map[string]map[string]string{
		"":                                     {},
		"&lock_timeout=7s":                     {"lock_timeout": "7s"},
		"&options=-c%20statement_timeout%3D9s": {"statement_timeout": "9s"},
	} {
		s, err := Open(t.Context(), Config{DSN: dsn + more})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for name, pool := range map[string]*pgxpool.Pool{"write": s.db.pools.write, "read": s.db.pools.read, "jobs": s.db.pools.jobs} {
			for _, setting := range sessionSettings {
				want := setting.value
				if name == "jobs" && setting.name == lockTimeout {
					want = jobsLockTimeout
				}
				if value, ok := own[setting.name]; ok {
					want = value
				}
				if strings.HasPrefix(setting.name, "tcp_") {
					continue // of no effect on a Unix socket, and so not shown
				}
				var got sql.NullString // NULL where this server has no such setting
				err := pool.QueryRow(t.Context(), "SELECT (current_setting($1, true)::interval = $2::interval)::text", setting.name, want).Scan(&got)
				if err != nil || got.Valid && got.String != "true" {
					t.Errorf("%s of the pool %s, with %q in the address: is it %s? %v, %v", setting.name, name, more, want, got, err)
				}
			}
		}
		err = s.db.pools.exclusively(t.Context(), func(pool *pgxpool.Pool) error {
			var got string
			if err := pool.QueryRow(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&got); err != nil || got != "0" {
				t.Errorf("a migration is limited: %s, %v", got, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// The operator's guide names each limit with its value.
func TestTheGuideNamesTheLimits(t *testing.T) {
	text, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sessionSettings {
		if row := "`" + s.name + "` | " + s.value + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/operating.md has no row %q", row)
		}
		if s.why == "" {
			t.Errorf("%s has no reason", s.name)
		}
	}
}

func TestConnectionsAreShared(t *testing.T) {
	for total := int32(fewestConnections); total < 200; total++ {
		s := sharesOf(total)
		if s.write+s.read+s.jobs+listening != total || s.write < 2 || s.read < 2 || s.jobs < 2 {
			t.Errorf("%d are shared as %+v", total, s)
		}
	}
	for _, c := range []struct {
		option int
		dsn    string
		parsed int32
		want   int32 // 0: refused
	}{
		{0, "postgresql:///d", 4, usualConnections},
		{40, "postgresql:///d", 4, 40},
		{0, "postgresql:///d?pool_max_conns=9", 9, 9},
		{40, "postgresql:///d?pool_max_conns=9", 9, 9},
		{8, "postgresql:///d?pool_max_conns=9", 9, 8},
		{0, "postgresql:///d?pool_max_conns=7", 7, 0},
		{7, "postgresql:///d", 4, 0},
	} {
		got, err := totalConnections(c.option, c.dsn, c.parsed)
		if got != c.want || (c.want == 0) != (metal.ReasonOf(err) == metal.Invalid) {
			t.Errorf("%d and %s: %d, %v", c.option, c.dsn, got, err)
		}
	}
}

// Where the process that leads the job queue is frozen, another one sees that
// timers are due.
func TestOverdueJobsAreMadeAvailable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	s, err := Open(t.Context(), Config{DSN: env.Postgres(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	states := func() (text string) {
		err := s.db.pools.read.QueryRow(t.Context(), "SELECT string_agg(state::text, ' ' ORDER BY scheduled_at) FROM river_job").Scan(&text)
		if err != nil {
			t.Error(err)
		}
		return text
	}
	err = s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
		for _, at := range []time.Duration{time.Hour, 2 * time.Hour} {
			if err := tx.SetTimer(ctx, "node", metal.TimerPayload{Deadline: time.Now().Add(at)}); err != nil {
				return err
			}
		}
		_, err := tx.c.exec(ctx, "UPDATE river_job SET scheduled_at = now() - interval '8 seconds' WHERE id = (SELECT min(id) FROM river_job)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "scheduled scheduled" {
		t.Fatal(got)
	}
	if _, err := s.freeStuckJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := states(); got != "available scheduled" {
		t.Error(got)
	}
}

type idleWorker struct {
	river.WorkerDefaults[AdvanceArgs]
}

func (idleWorker) Work(context.Context, *river.Job[AdvanceArgs]) error { return nil }

func idleWorkers() *river.Workers {
	w := river.NewWorkers()
	river.AddWorker(w, idleWorker{})
	return w
}

// The server counts the connections of a process that is busy in every way.
func TestNoMoreConnectionsThanAllowed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}
	const most = 9
	dsn := env.Postgres(t)
	s, err := Open(t.Context(), Config{DSN: dsn, MaxConnections: most})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	workers, err := s.Workers(WorkersConfig{Workers: idleWorkers()})
	if err != nil {
		t.Fatal(err)
	}
	if err := workers.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer workers.Stop(context.Background()) //nolint:errcheck // the process ends
	watch, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	count := func() (n int) {
		err := watch.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "+
			"AND backend_type = 'client backend'").Scan(&n)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 30 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := s.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
					_, err := tx.c.exec(ctx, "SELECT pg_sleep(0.01)")
					return err
				}); err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Nodes(t.Context(), NodeQuery{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	peak := 0
	for range 50 {
		peak = max(peak, count())
	}
	close(done)
	all.Wait()
	if peak > most || peak < most-2 { // the idle queue may not need all of its own
		t.Errorf("%d connections at most, of %d", peak, most)
	}
}
