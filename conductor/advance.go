package conductor

import (
	"context"
	"errors"
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
	switch {
	case metal.ReasonOf(err) == metal.NotFound:
		return nil // the node is gone
	case w.store.Transient(err):
		return errors.Join(store.AgainSoon(), err)
	}
	return err
}

// advance runs a node on until nothing is left that needs no waiting. Commands
// of hardware types served here are carried out between two transactions: one
// that was cut short by a crash is still queued, and runs again.
func (c *Conductor) advance(ctx context.Context, nodeUUID string) error {
	var results []answered
	for {
		t := &turn{nodeUUID: nodeUUID, results: results}
		err := c.take(ctx, t)
		switch {
		case errors.Is(err, errNodeGone):
			return nil
		case err != nil:
			goesOn, err := c.turnFailed(ctx, t, err)
			if !goesOn {
				return err
			}
			results = nil
			continue
		case len(t.queued) == 0 && !t.left:
			return nil
		}
		results = c.executeAll(ctx, t.queued)
		failpoint.Hit("conductor-executed")
	}
}

// reader is what a world is read from: a transaction, or the store.
type reader interface {
	OpenOperations(ctx context.Context, nodeUUID string) ([]metal.OperationRecord, error)
	PortsOf(ctx context.Context, nodeUUID string) ([]metal.Port, error)
	Conductors(ctx context.Context) ([]metal.Conductor, error)
	Agent(ctx context.Context, id string) (store.Agent, error)
}

func (c *Conductor) world(ctx context.Context, from reader, node metal.Node) (runner.World, error) {
	w := runner.World{
		Node: node, Catalogue: c.Catalogue, Settings: c.settings,
		Now: time.Now().UTC().Truncate(time.Microsecond), NewID: uuid.NewString,
	}
	var err error
	if w.Operations, err = from.OpenOperations(ctx, node.UUID); err != nil {
		return w, err
	}
	if w.Ports, err = from.PortsOf(ctx, node.UUID); err != nil {
		return w, err
	}
	w.AgentID, err = c.agentFor(ctx, from, &node)
	return w, err
}

// agentFor asks the directory, which may not know yet that an agent was removed:
// what is ordered of that one is never done.
func (c *Conductor) agentFor(ctx context.Context, from reader, node *metal.Node) (string, error) {
	list, err := from.Conductors(ctx)
	if err != nil {
		return "", err
	}
	for agents := c.directory(list); ; {
		id := agents.agentFor(node)
		if id == "" || id == metal.LocalAgent {
			return id, nil
		}
		agent, err := from.Agent(ctx, id)
		gone := metal.ReasonOf(err) == metal.NotFound || err == nil && agent.RevokedAt != nil
		if !gone {
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
