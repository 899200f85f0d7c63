package conductor

import (
	"context"
	"fmt"

	"ferrule/conductor/runner"
	"ferrule/metal"
	"ferrule/store"
)

// failuresTogether is how often entries are tried together before each is handled
// alone. One that fails once more is set aside.
const failuresTogether = 2

// turnFailed decides what follows from a turn that failed: goesOn means that the
// next turn can begin at once; else the job ends with the error, and is tried
// again after a growing pause.
func (c *Conductor) turnFailed(ctx context.Context, t *turn, cause error) (goesOn bool, err error) {
	err = fmt.Errorf("advance node %s: %w", t.nodeUUID, cause)
	switch {
	case c.Store.Transient(cause):
		return false, store.AgainSoon()
	case ctx.Err() != nil:
		return false, err
	}
	c.Logger.ErrorContext(ctx, "entries of a node could not be handled", "node", t.nodeUUID, "entries", described(t.taken), "error", cause)
	switch {
	case len(t.results) > 0:
		// They become entries of the inbox, so that no command runs again for
		// them. The job that comes for those takes this one's place.
		return false, c.keepResults(ctx, t.results)
	case len(t.taken) == 1 && t.taken[0].Failures >= failuresTogether:
		c.setAside(ctx, t.taken[0], cause)
		return true, nil
	}
	counting := c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.CountFailure(ctx, t.taken) })
	if counting != nil {
		c.Logger.ErrorContext(ctx, "a failure could not be counted", "node", t.nodeUUID, "error", counting)
	}
	return false, err
}

func described(entries []metal.InboxEntry) []string {
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = fmt.Sprintf("%s %d, failed %d times before", e.Kind, e.ID, e.Failures)
	}
	return texts
}

func (c *Conductor) keepResults(ctx context.Context, results []answered) error {
	return c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for i := range results {
			if err := tx.Settle(ctx, &results[i].command, results[i].result); err != nil {
				return err
			}
		}
		return nil
	})
}

// setAside takes an entry that cannot be handled out of the node's way and ends
// its operation: with the verb's clean-up, where that fails without it, and where
// that fails too, the entry goes alone.
func (c *Conductor) setAside(ctx context.Context, e metal.InboxEntry, cause error) {
	for _, how := range []runner.Ending{runner.WithCleanUp, runner.AtOnce, runner.NotAtAll} {
		err := c.setAsideOnce(ctx, e, cause, how)
		if err == nil {
			c.Logger.ErrorContext(ctx, "an entry was set aside because it cannot be handled", "node", e.NodeUUID,
				"entry", e.ID, "kind", e.Kind, "ending", how, "error", cause)
			return
		}
		c.Logger.ErrorContext(ctx, "an entry that cannot be handled could not be set aside", "node", e.NodeUUID,
			"entry", e.ID, "kind", e.Kind, "ending", how, "error", err)
		if c.Store.Transient(err) || ctx.Err() != nil {
			return // it is still there, and comes again
		}
	}
}

func (c *Conductor) setAsideOnce(ctx context.Context, e metal.InboxEntry, cause error, how runner.Ending) (err error) {
	defer c.recovered(ctx, e.NodeUUID, &err)
	return c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		node, err := tx.LockNode(ctx, e.NodeUUID)
		if metal.ReasonOf(err) == metal.NotFound {
			return nil // and the entry with it
		}
		if err != nil {
			return err
		}
		world, err := c.world(ctx, tx, *node)
		if err != nil {
			return err
		}
		operation := runner.OperationOf(&world, e)
		if operation != "" && how != runner.NotAtAll {
			out, err := runner.End(ctx, world, operation, stuckText(e, cause), how)
			if err != nil {
				return err
			}
			if err := c.write(ctx, tx, &world, out); err != nil {
				return err
			}
			if err := c.settleNode(ctx, tx, node, &world); err != nil {
				return err
			}
		}
		return tx.SetAside(ctx, e, operation, cause.Error())
	})
}

// entryNames say what an entry is, for last_error.
var entryNames = map[metal.InboxKind]string{
	metal.InboxVerb: "a request", metal.InboxHeartbeat: "a heartbeat of the ramdisk", metal.InboxInspection: "the inspection data",
	metal.InboxResult: "a result", metal.InboxTimer: "a timeout", metal.InboxPower: "a reading of the power state",
}

func stuckText(e metal.InboxEntry, cause error) string {
	name := entryNames[e.Kind]
	if name == "" {
		name = fmt.Sprintf("an event of the unknown kind %q", e.Kind)
	}
	return metal.StorableText(fmt.Sprintf("The operation was ended because %s could not be handled after %d attempts: %s. "+
		"It is kept as entry %d for examination; the conductor's log has the details.", name, e.Failures+1, cause, e.ID))
}
