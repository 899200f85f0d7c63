package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"ferrule/failpoint"
	"ferrule/metal"
)

// AdvanceArgs is the job that takes a node's inbox and moves the node on.
type AdvanceArgs struct {
	NodeUUID string `json:"nodeUuid"`
}

// Kind names the job.
func (AdvanceArgs) Kind() string { return "advance" }

// TimerArgs is the job that posts an InboxTimer to a node when it is due.
type TimerArgs struct {
	NodeUUID    string    `json:"nodeUuid"`
	OperationID string    `json:"operationId"`
	Deadline    time.Time `json:"deadline"`
}

// Kind names the job.
func (TimerArgs) Kind() string { return "timer" }

// WatchArgs is the job that renews the leases of the power watch: of all nodes,
// or of one agent's, which has just come on line and remembers none.
type WatchArgs struct {
	AgentID string `json:"agentId,omitempty"`
}

// Kind names the job.
func (WatchArgs) Kind() string { return "watch" }

// RenewWatches renews the leases that an agent holds.
func (tx *Tx) RenewWatches(ctx context.Context, agentID string) error {
	return tx.insertJob(ctx, WatchArgs{AgentID: agentID}, time.Time{})
}

// The settings that recovery rests on: work of a killed process goes on within
// fifteen seconds, and no job is ever given up.
const (
	jobTimeout    = 10 * time.Second
	rescueAfter   = 11 * time.Second
	retryAfter    = time.Second
	retryAtMost   = 30 * time.Second
	rescueEvery   = time.Second     // by each process; River's own comes twice a minute, and only where it leads
	overdueAfter  = 7 * time.Second // River's leader makes due jobs available every 5 s; one that is frozen does not
	keepCompleted = 5 * time.Minute
	attempts      = math.MaxInt16 // what the queue's column holds
	fetchCooldown = 5 * time.Millisecond
	fetchPoll     = time.Second
)

// growingPauses is the queue's retry policy.
type growingPauses struct{}

// NextRetry doubles the pause with each try that failed.
func (growingPauses) NextRetry(job *rivertype.JobRow) time.Time {
	pause := retryAfter
	for try := 1; try < job.Attempt && pause < retryAtMost; try++ {
		pause *= 2
	}
	return time.Now().Add(min(pause, retryAtMost))
}

// AgainSoon is what a job returns that failed for no fault of its own, such as
// an outage of the database: it is tried again after a second, however often.
func AgainSoon() error { return river.JobSnooze(retryAfter) }

func jobConfig(db *database, logger *slog.Logger) *river.Config {
	cfg := &river.Config{
		Logger:                      quieter(logger, db.reach),
		JobTimeout:                  jobTimeout,
		RescueStuckJobsAfter:        rescueAfter,
		RetryPolicy:                 growingPauses{},
		CompletedJobRetentionPeriod: keepCompleted,
		MaxAttempts:                 attempts,
		FetchCooldown:               fetchCooldown,
		FetchPollInterval:           fetchPoll,
	}
	if db.pools == nil {
		cfg.ReindexerIndexNames = []string{} // the default names are PostgreSQL's, and their lack would be warned of each midnight
	}
	return cfg
}

// newInserter makes the client through which transactions insert jobs.
func newInserter(db *database, logger *slog.Logger) (*river.Client[*sql.Tx], error) {
	var driver riverdriver.Driver[*sql.Tx] = quietSQLite{Driver: riversqlite.New(nil)}
	if db.pools != nil {
		driver = riverdatabasesql.New(nil)
	}
	cfg := jobConfig(db, logger)
	cfg.FetchCooldown = time.Millisecond // of two inserts right after another, both must notify
	c, err := river.NewClient(driver, cfg)
	if err != nil {
		return nil, fmt.Errorf("prepare the job queue: %w", err)
	}
	return c, nil
}

// insertJob adds a job to the transaction; at zero it can run at once.
func (tx *Tx) insertJob(ctx context.Context, args river.JobArgs, at time.Time) error {
	if _, err := tx.store.jobs.InsertTx(ctx, tx.tx, args, &river.InsertOpts{ScheduledAt: at}); err != nil {
		return fmt.Errorf("enqueue %s: %w", args.Kind(), err)
	}
	failpoint.Hit("store-job-inserted")
	tx.wake(TopicJobs)
	return nil
}

// AdvanceJobs counts, by node, the jobs that will take its inbox or are doing so.
// Of a queue that is longer than mostJobs it tells of those that are next.
func (tx *Tx) AdvanceJobs(ctx context.Context) (map[string]int, error) {
	list, err := tx.store.jobs.JobListTx(ctx, tx.tx, river.NewJobListParams().Kinds(AdvanceArgs{}.Kind()).First(mostJobs).States(
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled))
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	jobs := map[string]int{}
	for _, job := range list.Jobs {
		var args AdvanceArgs
		if err := json.Unmarshal(job.EncodedArgs, &args); err != nil {
			return nil, fmt.Errorf("read job %d: %w", job.ID, err)
		}
		jobs[args.NodeUUID]++
	}
	return jobs, nil
}

// mostJobs is the most that the queue lists at once.
const mostJobs = 10_000

// SetTimer posts an InboxTimer to the node when p.Deadline has passed. Timers
// are not taken back: the receiver sees whether the deadline is still the
// operation's. The queue looks for due timers every five seconds.
func (tx *Tx) SetTimer(ctx context.Context, nodeUUID string, p metal.TimerPayload) error {
	args := TimerArgs{NodeUUID: nodeUUID, OperationID: p.OperationID, Deadline: p.Deadline}
	return tx.insertJob(ctx, args, p.Deadline)
}

func (s *Store) migrateJobs(ctx context.Context, pool *pgxpool.Pool) error {
	var err error
	if pool != nil {
		err = migrateRiver(ctx, riverpgxv5.New(pool), s.logger)
	} else {
		err = migrateRiver(ctx, riversqlite.New(s.db.writer), s.logger)
	}
	if err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	return nil
}

func migrateRiver[TTx any](ctx context.Context, d riverdriver.Driver[TTx], logger *slog.Logger) error {
	m, err := rivermigrate.New(d, &rivermigrate.Config{Logger: quieter(logger, nil)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// WorkersConfig is what the conductor adds to the queue's fixed settings.
type WorkersConfig struct {
	Workers    *river.Workers
	Periodic   []*river.PeriodicJob
	MaxWorkers int    // jobs at a time; 0: 16
	ID         string // of this process among all; "": made up
}

// Workers is a River client, whatever its engine.
type Workers interface {
	// Start begins to work jobs; ctx ends them all at once.
	Start(ctx context.Context) error
	// Stop fetches no more and waits for the jobs under way.
	Stop(ctx context.Context) error
	// StopAndCancel also cancels them.
	StopAndCancel(ctx context.Context) error
	Stopped() <-chan struct{}
	Subscribe(kinds ...river.EventKind) (<-chan *river.Event, func())
}

var (
	_ Workers = (*oneOfMany)(nil)
	_ Workers = soleOwner{}
)

// Workers makes the client that works jobs.
func (s *Store) Workers(cfg WorkersConfig) (Workers, error) {
	if cfg.MaxWorkers == 0 {
		cfg.MaxWorkers = 16
	}
	rc := jobConfig(s.db, s.logger)
	rc.Workers, rc.PeriodicJobs, rc.ID = cfg.Workers, cfg.Periodic, cfg.ID
	rc.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: cfg.MaxWorkers}}
	if s.db.pools != nil {
		c, err := river.NewClient(riverpgxv5.New(s.db.pools.jobs), rc)
		if err != nil {
			return nil, fmt.Errorf("prepare job workers: %w", err)
		}
		return &oneOfMany{Client: c, store: s}, nil
	}
	c, err := river.NewClient(quietSQLite{riversqlite.New(s.db.writer), s.hub}, rc)
	if err != nil {
		return nil, fmt.Errorf("prepare job workers: %w", err)
	}
	return soleOwner{c, s}, nil
}

// soleOwner works the jobs of a SQLite file, which has one owner: jobs that are
// marked as running when it starts are those of a process that died.
type soleOwner struct {
	*river.Client[*sql.Tx]
	store *Store
}

func (o soleOwner) Start(ctx context.Context) error {
	if _, err := o.store.db.writer.ExecContext(ctx,
		"UPDATE river_job SET state = 'available' WHERE state = 'running'"); err != nil {
		return fmt.Errorf("take over running jobs: %w", err)
	}
	return o.Client.Start(ctx)
}

// quietSQLite is River's SQLite driver without its table of notifications,
// which is written at each insert and polled: the one process that owns the
// file tells itself.
type quietSQLite struct {
	*riversqlite.Driver
	hub *hub
}

func (d quietSQLite) SupportsListenNotify() bool { return false }

func (d quietSQLite) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return &hubListener{hub: d.hub}
}

// insertTopic and insertPayload are what River's producer understands as "look
// for jobs".
const (
	insertTopic   = "river_insert"
	insertPayload = `{"queue": "` + river.QueueDefault + `"}`
)

// hubListener is a riverdriver.Listener fed by the hub.
type hubListener struct {
	hub    *hub
	wakes  <-chan struct{}
	cancel func()
}

func (l *hubListener) Connect(context.Context) error {
	if l.cancel != nil {
		return errors.New("already connected")
	}
	l.wakes, l.cancel = l.hub.subscribe(TopicJobs)
	return nil
}

func (l *hubListener) Close(context.Context) error {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
	return nil
}

func (l *hubListener) Listen(context.Context, string) error   { return nil }
func (l *hubListener) Unlisten(context.Context, string) error { return nil }
func (l *hubListener) Ping(context.Context) error             { return nil }
func (l *hubListener) Schema() string                         { return "" }
func (l *hubListener) SetAfterConnectExec(string)             {}

func (l *hubListener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.wakes:
		return &riverdriver.Notification{Topic: insertTopic, Payload: insertPayload}, nil
	}
}

// quieter drops a library's news, which would fill the first lines of a start,
// and its complaints while the database is away, of which the log is told.
func quieter(l *slog.Logger, watch *reach) *slog.Logger {
	return slog.New(&atLeast{l.Handler(), slog.LevelWarn, watch})
}

type atLeast struct {
	slog.Handler
	level slog.Level
	watch *reach
}

func (h *atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && !h.watch.away() && h.Handler.Enabled(ctx, l)
}

func (h *atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &atLeast{h.Handler.WithAttrs(attrs), h.level, h.watch}
}

func (h *atLeast) WithGroup(name string) slog.Handler {
	return &atLeast{h.Handler.WithGroup(name), h.level, h.watch}
}
