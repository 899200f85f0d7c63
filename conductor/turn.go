package conductor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"ferrule/conductor/runner"
	"ferrule/failpoint"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// errNodeGone says that the node was deleted. No other row that is missing says so.
var errNodeGone = errors.New("the node is gone")

// answered is a command of this process with its result, not yet stored.
type answered struct {
	command metal.CommandRecord
	result  metal.CommandResult
}

// turn is one transaction for a node: results stored, the first entries of the
// inbox taken and handled, all that follows written.
type turn struct {
	nodeUUID string
	results  []answered // of the turn before

	taken  []metal.InboxEntry
	left   bool                  // there are entries that the next turn takes
	queued []metal.CommandRecord // those that this process is to carry out
}

// mostForesights is how often a node may change while rules run for it before
// the turn is given up and tried again later.
const mostForesights = 5

// take does one turn. An entry that needs inspection rules is handled before the
// transaction, which then only writes what came of it.
func (c *Conductor) take(ctx context.Context, t *turn) error {
	var seen *foresight
	for range mostForesights {
		err := c.transact(ctx, t, seen)
		if !errors.Is(err, errNeedsForesight) {
			if err == nil {
				failpoint.Hit("conductor-committed")
			}
			return err
		}
		if seen, err = c.foresee(ctx, t.nodeUUID, t.taken[0]); err != nil {
			return err
		}
	}
	return fmt.Errorf("the node changed %d times while inspection rules ran for it", mostForesights)
}

func (c *Conductor) transact(ctx context.Context, t *turn, seen *foresight) (err error) {
	defer c.recovered(ctx, t.nodeUUID, &err)
	return c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		t.taken, t.left, t.queued = nil, false, nil
		node, err := tx.LockNode(ctx, t.nodeUUID)
		if err != nil {
			return goneOr(err)
		}
		world, err := c.world(ctx, tx, *node)
		if err != nil {
			return err
		}
		if t.taken, t.left, err = tx.TakeFirst(ctx, t.nodeUUID, atOnce(&world)); err != nil {
			return err
		}
		entries, err := finish(ctx, tx, t)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			if err := c.handle(ctx, tx, world, entries, seen); err != nil {
				return err
			}
			failpoint.Hit("conductor-handled")
		}
		if hardware.HostOf(node.Driver) == hardware.HostedHere {
			t.queued, err = tx.QueuedCommandsOf(ctx, t.nodeUUID, metal.LocalAgent)
		}
		return err
	})
}

// recovered makes an error of a panic: one entry that meets a fault of the
// program must not stop its node.
func (c *Conductor) recovered(ctx context.Context, nodeUUID string, err *error) {
	if p := recover(); p != nil {
		c.Logger.ErrorContext(ctx, "the work on a node panicked", "node", nodeUUID, "panic", p, "stack", string(debug.Stack()))
		*err = errors.New("the conductor panicked; its log says where")
	}
}

func goneOr(err error) error {
	if metal.ReasonOf(err) == metal.NotFound {
		return errNodeGone
	}
	return err
}

// atOnce says how many entries one turn takes: all, up to one that is to be
// handled alone.
func atOnce(w *runner.World) func([]metal.InboxEntry) int {
	return func(all []metal.InboxEntry) int {
		for i, e := range all {
			if e.Failures >= failuresTogether || runner.NeedsRules(w, e) {
				return max(i, 1)
			}
		}
		return len(all)
	}
}

// finish stores the results that came before the turn, and gives the entries that
// they are, behind those of the inbox.
func finish(ctx context.Context, tx *store.Tx, t *turn) ([]metal.InboxEntry, error) {
	entries := t.taken
	for _, a := range t.results {
		first, err := tx.FinishCommand(ctx, a.command.ID, a.result)
		if err != nil {
			return nil, err
		}
		if first {
			entries = append(entries, metal.InboxEntry{
				NodeUUID: a.command.NodeUUID, Kind: metal.InboxResult, Payload: metal.ToJSON(metal.ResultPayload{
					CommandID: a.command.ID, OperationID: a.command.OperationID, Result: a.result,
				}),
			})
		}
	}
	return entries, nil
}

// handle gives the entries to the runner, one after the other, and writes what
// comes of them all.
func (c *Conductor) handle(ctx context.Context, tx *store.Tx, world runner.World, entries []metal.InboxEntry, seen *foresight) error {
	before := world.Node
	for _, e := range entries {
		out, err := c.outcome(ctx, world, e, seen)
		if err != nil {
			return err
		}
		if err := c.write(ctx, tx, &world, out); err != nil {
			return err
		}
	}
	return c.settleNode(ctx, tx, &before, &world)
}

func (c *Conductor) outcome(ctx context.Context, w runner.World, e metal.InboxEntry, seen *foresight) (runner.Outcome, error) {
	switch {
	case !runner.NeedsRules(&w, e):
		return runner.Advance(ctx, w, e)
	case seen.holds(&w, e):
		return seen.outcome, nil
	}
	return runner.Outcome{}, errNeedsForesight
}

// settleNode writes the node's row, and what else follows from its change.
func (c *Conductor) settleNode(ctx context.Context, tx *store.Tx, before *metal.Node, w *runner.World) error {
	if err := c.watchAfter(ctx, tx, before, &w.Node, w.AgentID); err != nil {
		return err
	}
	if err := endAllocation(ctx, tx, before, &w.Node); err != nil {
		return err
	}
	c.Logger.DebugContext(ctx, "node advanced", "node", w.Node.UUID, "from", before.ProvisionState, "to", w.Node.ProvisionState)
	return tx.UpdateNode(ctx, &w.Node)
}

// executeAll carries out the commands of hardware types that need no agent.
func (c *Conductor) executeAll(ctx context.Context, queued []metal.CommandRecord) []answered {
	var results []answered
	for _, cmd := range queued {
		res := c.executeHere(ctx, cmd)
		res.CommandID, res.FinishedAt = cmd.ID, time.Now().UTC()
		results = append(results, answered{cmd, res.Storable()})
	}
	return results
}

func (c *Conductor) executeHere(ctx context.Context, cmd metal.CommandRecord) (res metal.CommandResult) {
	var err error
	defer func() {
		if err != nil {
			res = metal.CommandResult{ErrorCode: metal.CodeBMCError, Message: err.Error()}
		}
	}()
	defer c.recovered(ctx, cmd.NodeUUID, &err)
	var command metal.Command
	if err = json.Unmarshal([]byte(cmd.Envelope), &command); err != nil {
		err = fmt.Errorf("read command %s: %w", cmd.ID, err)
		return res
	}
	return c.Local.Execute(ctx, command.Request)
}
