package conductor

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"ferrule/metal"
	"ferrule/store"
)

// tidyArgs is the periodic job that forgets what is over.
type tidyArgs struct{}

// Kind names the job.
func (tidyArgs) Kind() string { return "tidy" }

type tidyWorker struct {
	river.WorkerDefaults[tidyArgs]
	conductor *Conductor
}

const (
	tidyInterval = time.Minute
	keepCommands = 24 * time.Hour // with their results, for whoever asks what was done
	tidyBatch    = 1000
	lateEvent    = 30 * time.Second
)

// Work implements river.Worker.
func (w *tidyWorker) Work(ctx context.Context, _ *river.Job[tidyArgs]) error {
	c := w.conductor
	now := time.Now()
	expired, err := c.Store.ExpiredCommands(ctx, now, tidyBatch)
	if err != nil {
		return err
	}
	return c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for _, cmd := range expired {
			res := metal.CommandResult{
				CommandID: cmd.ID, ErrorCode: metal.CodeOutcomeUnknown, FinishedAt: now.UTC(),
				Message: "the agent " + cmd.AgentID + " gave no answer before the command expired",
			}
			if _, err := tx.FinishCommand(ctx, cmd.ID, res); err != nil {
				return err
			}
		}
		if _, err := tx.DropCommands(ctx, now.Add(-keepCommands), tidyBatch); err != nil {
			return err
		}
		if _, err := tx.DropKeptAnswers(ctx, now.Add(-store.KeepAnswers), tidyBatch); err != nil {
			return err
		}
		_, err := tx.Rewake(ctx, now.Add(-lateEvent))
		return err
	})
}

// periodic is the work that one conductor of all does, by the clock.
func (c *Conductor) periodic() []*river.PeriodicJob {
	every := func(d time.Duration, args river.JobArgs) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(d),
			func() (river.JobArgs, *river.InsertOpts) { return args, nil },
			&river.PeriodicJobOpts{RunOnStart: true})
	}
	return []*river.PeriodicJob{every(tidyInterval, tidyArgs{}), every(watchRenew, store.WatchArgs{})}
}
