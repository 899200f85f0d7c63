package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// oneOfMany works the jobs of a PostgreSQL queue beside other processes, and
// takes up what one of them had begun when it died.
type oneOfMany struct {
	*river.Client[pgx.Tx]
	store *Store

	end     context.CancelFunc
	rescues sync.WaitGroup
}

// Start begins to work jobs.
func (o *oneOfMany) Start(ctx context.Context) error {
	if err := o.Client.Start(ctx); err != nil {
		return err
	}
	ctx, o.end = context.WithCancel(ctx)
	o.rescues.Go(func() { o.rescue(ctx) })
	return nil
}

// Stop fetches no more and waits for the jobs under way.
func (o *oneOfMany) Stop(ctx context.Context) error {
	o.endRescues()
	return o.Client.Stop(ctx)
}

// StopAndCancel also cancels them.
func (o *oneOfMany) StopAndCancel(ctx context.Context) error {
	o.endRescues()
	return o.Client.StopAndCancel(ctx)
}

func (o *oneOfMany) endRescues() {
	if o.end != nil {
		o.end()
		o.rescues.Wait()
	}
}

func (o *oneOfMany) rescue(ctx context.Context) {
	tick := time.NewTicker(rescueEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n, err := o.store.freeStuckJobs(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			o.store.logger.Log(ctx, o.store.db.outages.level(err, slog.LevelError), "jobs of dead processes could not be taken up", "error", err)
		case n > 0:
			o.store.logger.WarnContext(ctx, "took up jobs of a process that died", "jobs", n)
		}
	}
}

// freeStuckJobs makes jobs available that have run for longer than any may, and
// those that are due and were not made available: the process that leads the
// queue may be frozen.
func (s *Store) freeStuckJobs(ctx context.Context) (int64, error) {
	stuck, err := s.db.pools.jobs.Exec(ctx,
		"UPDATE river_job SET state = 'available' WHERE state = 'running' AND attempted_at < now() - $1::interval", rescueAfter)
	if err != nil {
		return 0, fmt.Errorf("free stuck jobs: %w", err)
	}
	_, err = s.db.pools.jobs.Exec(ctx,
		"UPDATE river_job SET state = 'available' WHERE state IN ('scheduled', 'retryable') AND queue = $1 AND priority = $2 "+
			"AND scheduled_at < now() - $3::interval", river.QueueDefault, river.PriorityDefault, overdueAfter)
	if err != nil {
		return 0, fmt.Errorf("free overdue jobs: %w", err)
	}
	return stuck.RowsAffected(), nil
}
