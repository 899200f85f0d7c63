package conductor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"ferrule/conductor/runner"
	"ferrule/failpoint"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// advanceWorker works store.AdvanceArgs: everything in one node's inbox.
type advanceWorker struct {
	river.WorkerDefaults[store.AdvanceArgs]
	conductor *Conductor
}

// Work implements river.Worker.
func (w *advanceWorker) Work(ctx context.Context, job *river.Job[store.AdvanceArgs]) error {
	return w.conductor.advance(ctx, job.Args.NodeUUID)
}

// timerWorker works store.TimerArgs.
type timerWorker struct {
	river.WorkerDefaults[store.TimerArgs]
	store *store.Store
}

// Work implements river.Worker.
func (w *timerWorker) Work(ctx context.Context, job *river.Job[store.TimerArgs]) error {
	p := metal.TimerPayload{OperationID: job.Args.OperationID, Deadline: job.Args.Deadline}
	err := w.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.Post(ctx, job.Args.NodeUUID, metal.InboxTimer, metal.ToJSON(p))
	})
	if metal.ReasonOf(err) == metal.NotFound {
		return nil // the node is gone
	}
	return err
}

// answered is a command of this process with its result, not yet stored.
type answered struct {
	command metal.CommandRecord
	result  metal.CommandResult
}

// advance runs a node on until nothing is left that needs no waiting. Commands
// of hardware types served here are carried out between two transactions: one
// that was cut short by a crash is still queued, and runs again.
func (c *Conductor) advance(ctx context.Context, nodeUUID string) error {
	var results []answered
	for {
		queued, err := c.turn(ctx, nodeUUID, results)
		if metal.ReasonOf(err) == metal.NotFound {
			return nil // deleted meanwhile
		}
		if err != nil {
			return fmt.Errorf("advance node %s: %w", nodeUUID, err)
		}
		if len(queued) == 0 {
			return nil
		}
		results = results[:0]
		for _, cmd := range queued {
			res, err := c.executeHere(ctx, cmd)
			if err != nil {
				return err
			}
			results = append(results, answered{cmd, res})
		}
		failpoint.Hit("conductor-executed")
	}
}

func (c *Conductor) executeHere(ctx context.Context, cmd metal.CommandRecord) (metal.CommandResult, error) {
	var command metal.Command
	if err := json.Unmarshal([]byte(cmd.Envelope), &command); err != nil {
		return metal.CommandResult{}, fmt.Errorf("read command %s: %w", cmd.ID, err)
	}
	res := c.Local.Execute(ctx, command.Request)
	res.CommandID, res.FinishedAt = cmd.ID, time.Now().UTC()
	return res, nil
}

// turn is one transaction: results stored, inbox taken, all of it handled, all
// that follows written. It gives the commands that this process is to carry
// out.
func (c *Conductor) turn(ctx context.Context, nodeUUID string, results []answered) ([]metal.CommandRecord, error) {
	var queued []metal.CommandRecord
	err := c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		queued = nil
		node, err := tx.LockNode(ctx, nodeUUID)
		if err != nil {
			return err
		}
		entries, err := tx.TakeInbox(ctx, nodeUUID)
		if err != nil {
			return err
		}
		for _, a := range results {
			first, err := tx.FinishCommand(ctx, a.command.ID, a.result)
			if err != nil {
				return err
			}
			if first {
				entries = append(entries, resultEntry(a))
			}
		}
		if len(entries) > 0 {
			if err := c.handle(ctx, tx, *node, entries); err != nil {
				return err
			}
			failpoint.Hit("conductor-handled")
		}
		if hardware.HostOf(node.Driver) == hardware.HostedHere {
			queued, err = tx.QueuedCommandsOf(ctx, nodeUUID, metal.LocalAgent)
		}
		return err
	})
	if err == nil {
		failpoint.Hit("conductor-committed")
	}
	return queued, err
}

func resultEntry(a answered) metal.InboxEntry {
	return metal.InboxEntry{NodeUUID: a.command.NodeUUID, Kind: metal.InboxResult, Payload: metal.ToJSON(metal.ResultPayload{
		CommandID: a.command.ID, OperationID: a.command.OperationID, Result: a.result,
	})}
}

// handle gives the entries to the runner, one after the other, and writes what
// comes of them all.
func (c *Conductor) handle(ctx context.Context, tx *store.Tx, node metal.Node, entries []metal.InboxEntry) error {
	world, err := c.world(ctx, tx, node)
	if err != nil {
		return err
	}
	before := node
	for _, e := range entries {
		out, err := runner.Advance(world, e)
		if err != nil {
			return err
		}
		if err := c.write(ctx, tx, &world, out); err != nil {
			return err
		}
	}
	if err := c.watchAfter(ctx, tx, &before, &world.Node, world.AgentID); err != nil {
		return err
	}
	if err := endAllocation(ctx, tx, &before, &world.Node); err != nil {
		return err
	}
	c.Logger.DebugContext(ctx, "node advanced", "node", node.UUID, "from", before.ProvisionState,
		"to", world.Node.ProvisionState, "events", len(entries))
	return tx.UpdateNode(ctx, &world.Node)
}

func (c *Conductor) world(ctx context.Context, tx *store.Tx, node metal.Node) (runner.World, error) {
	w := runner.World{
		Node: node, Catalogue: c.Catalogue, Settings: c.settings,
		Now: time.Now().UTC().Truncate(time.Microsecond), NewID: uuid.NewString,
	}
	var err error
	if w.Operations, err = tx.OpenOperations(ctx, node.UUID); err != nil {
		return w, err
	}
	if w.Ports, err = tx.PortsOf(ctx, node.UUID); err != nil {
		return w, err
	}
	if w.AgentID, err = c.agentFor(ctx, tx, &node); err != nil {
		return w, err
	}
	return w, c.ruleWorld(ctx, tx, &w)
}

// agentFor asks the directory, which may not know yet that an agent was removed:
// what is ordered of that one is never done.
func (c *Conductor) agentFor(ctx context.Context, tx *store.Tx, node *metal.Node) (string, error) {
	list, err := tx.Conductors(ctx)
	if err != nil {
		return "", err
	}
	for agents := c.directory(list); ; {
		id := agents.agentFor(node)
		if id == "" || id == metal.LocalAgent {
			return id, nil
		}
		agent, err := tx.Agent(ctx, id)
		if err != nil || agent.RevokedAt == nil {
			return id, err
		}
		agents = agents.without(id)
	}
}

// write stores one outcome and makes the world that the next entry meets. The
// node's row is written once, at the end.
func (c *Conductor) write(ctx context.Context, tx *store.Tx, w *runner.World, out runner.Outcome) error {
	w.Node = out.Node
	w.Operations = w.Operations[:0:0]
	for _, op := range out.Operations {
		if op.FinishedAt == nil {
			w.Operations = append(w.Operations, op)
		}
		if err := tx.SaveOperation(ctx, &op); err != nil {
			return err
		}
	}
	if err := c.writeSecrets(ctx, tx, out); err != nil {
		return err
	}
	for _, o := range out.Commands {
		if err := c.order(ctx, tx, w.Node.UUID, o); err != nil {
			return err
		}
	}
	c.logNotes(ctx, w.Node.UUID, out.Notes)
	for _, t := range out.Timers {
		if err := tx.SetTimer(ctx, w.Node.UUID, t); err != nil {
			return err
		}
	}
	if !c.Config.Conductor.NodeHistory {
		out.History = nil
	}
	for _, h := range out.History {
		if err := tx.AddHistory(ctx, &h); err != nil {
			return err
		}
	}
	if out.Inventory != nil {
		if err := tx.PutInventory(ctx, out.Inventory); err != nil {
			return err
		}
	}
	if err := writeParts(ctx, tx, w.Node.UUID, out); err != nil {
		return err
	}
	return c.writePorts(ctx, tx, w, out)
}

func writeParts(ctx context.Context, tx *store.Tx, nodeUUID string, out runner.Outcome) error {
	if out.BIOS != nil {
		if err := tx.SyncBIOSSettings(ctx, nodeUUID, *out.BIOS); err != nil {
			return err
		}
	}
	if out.Firmware != nil {
		return tx.SyncFirmwareComponents(ctx, nodeUUID, *out.Firmware)
	}
	return nil
}

func (c *Conductor) writePorts(ctx context.Context, tx *store.Tx, w *runner.World, out runner.Outcome) error {
	for _, p := range out.CreatePorts {
		// A NIC that another node has a port for is that node's.
		if _, err := tx.PortByAddress(ctx, p.Address); err == nil {
			c.Logger.WarnContext(ctx, "a NIC of this node has a port on another node", "node", w.Node.UUID, "address", p.Address)
			continue
		} else if metal.ReasonOf(err) != metal.NotFound {
			return err
		}
		if err := tx.InsertPort(ctx, &p); err != nil {
			return err
		}
	}
	for _, p := range out.UpdatePorts {
		if err := tx.UpdatePort(ctx, &p); err != nil {
			return err
		}
	}
	for _, id := range out.DeletePorts {
		if err := tx.DeletePort(ctx, id); err != nil {
			return err
		}
	}
	if len(out.CreatePorts)+len(out.UpdatePorts)+len(out.DeletePorts) == 0 {
		return nil
	}
	ports, err := tx.PortsOf(ctx, w.Node.UUID)
	w.Ports = ports
	return err
}

// writeSecrets drops first: a token that is made anew has the same ref.
func (c *Conductor) writeSecrets(ctx context.Context, tx *store.Tx, out runner.Outcome) error {
	for _, ref := range out.DropSecrets {
		if err := tx.DeleteSecret(ctx, ref); err != nil && metal.ReasonOf(err) != metal.NotFound {
			return err
		}
	}
	for _, place := range out.DropPlaces {
		if err := tx.DeleteSecrets(ctx, place); err != nil {
			return err
		}
	}
	values := map[string]string{}
	maps.Copy(values, out.Secrets)
	for _, ref := range out.NewTokens {
		values[ref] = newToken()
	}
	for _, ref := range slices.Sorted(maps.Keys(values)) {
		seal := c.seal(values[ref], hardware.SealedFor(&out.Node, ref))
		if _, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant", NodeUUID: out.Node.UUID}, seal); err != nil {
			return err
		}
	}
	return nil
}

// seal seals value as a version of a secret.
func (c *Conductor) seal(value, sealedFor string) store.Seal {
	return func(ref string, version int64) ([]byte, error) {
		return c.Sealer.Seal(metal.SecretName(ref, version, sealedFor), []byte(value))
	}
}
