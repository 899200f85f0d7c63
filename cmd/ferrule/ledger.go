package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"ferrule/link"
	"ferrule/link/gateway"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/trust"
)

// ledger is the store as the gateway needs it. Each method is one transaction.
type ledger struct {
	store  *store.Store
	sealer *trust.Sealer
	log    *slog.Logger
	host   string // of this process, among the conductors
}

var (
	_ gateway.Agents         = ledger{}
	_ gateway.Sessions       = ledger{}
	_ gateway.Commands       = ledger{}
	_ gateway.Results        = ledger{}
	_ gateway.Observations   = ledger{}
	_ gateway.SecretRequests = ledger{}
	_ trust.Secrets          = ledger{}
)

// agentRow is an agent's row as its hello describes it.
func agentRow(id string, h link.Hello) store.Agent {
	return store.Agent{
		ID: id, Hostname: h.Hostname, Software: h.Version, Labels: metal.ToJSON(orEmpty(h.Labels)),
		HardwareTypes: h.HardwareTypes, Operations: metal.ToJSON(h.Operations),
	}
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// Join implements gateway.Agents. A code that comes again brings no retired key
// back into force.
func (l ledger) Join(ctx context.Context, j gateway.Joining) (trust.AgentName, error) {
	row := agentRow(j.NewID, j.Hello)
	err := l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Join(ctx, j.SecretHash, j.KeyHash, &row); err != nil {
			return err
		}
		keys, err := tx.Keys(ctx, row.ID)
		switch {
		case err != nil:
			return err
		case len(keys) == 0:
			return tx.AddKey(ctx, row.ID, j.KeyHash)
		case !slices.Contains(keys, j.KeyHash):
			return metal.Errorf(metal.Forbidden, "The join code was used by a key that is no longer in force. Ask for a new one.")
		}
		return nil
	})
	return trust.AgentName{ID: row.ID, Site: row.Site}, err
}

// Agent implements gateway.Agents.
func (l ledger) Agent(ctx context.Context, id string) (gateway.Agent, error) {
	row, err := l.store.Agent(ctx, id)
	if err != nil {
		return gateway.Agent{}, err
	}
	if row.RevokedAt != nil {
		return gateway.Agent{}, removedBefore(id)
	}
	keys, err := l.store.Keys(ctx, id)
	return gateway.Agent{Name: trust.AgentName{ID: row.ID, Site: row.Site}, Keys: keys}, err
}

func removedBefore(id string) error {
	return metal.Errorf(metal.NotFound, "Agent %s has been removed.", id)
}

// AddKey implements gateway.Agents.
func (l ledger) AddKey(ctx context.Context, agentID, keyHash string) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.AddKey(ctx, agentID, keyHash) })
}

// RetireKeysBefore implements gateway.Agents.
func (l ledger) RetireKeysBefore(ctx context.Context, agentID, keyHash string) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.RetireKeysBefore(ctx, agentID, keyHash)
	})
}

// conductorName is how an agent shows among the conductors. Two agents on one host
// are told apart by their ids.
func conductorName(row store.Agent) string {
	return row.Hostname + "-" + row.ID[:min(8, len(row.ID))]
}

// SessionOpened implements gateway.Sessions.
func (l ledger) SessionOpened(ctx context.Context, agent trust.AgentName, sessionID string, hello link.Hello) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Agent(ctx, agent.ID)
		if err != nil {
			return err
		}
		if row.RevokedAt != nil {
			return removedBefore(agent.ID)
		}
		said := agentRow(agent.ID, hello)
		row.Hostname, row.Software, row.Labels = said.Hostname, said.Software, said.Labels
		row.HardwareTypes, row.Operations, row.SessionID = said.HardwareTypes, said.Operations, sessionID
		now := time.Now().UTC()
		row.LastSeenAt = &now
		if err := tx.UpdateAgent(ctx, &row); err != nil {
			return err
		}
		if err := tx.UpsertConductor(ctx, &metal.Conductor{
			Hostname: conductorName(row), ConductorGroup: agent.Site, Drivers: hello.HardwareTypes, AgentID: agent.ID, Through: l.host, Online: true,
		}); err != nil {
			return err
		}
		return tx.RenewWatches(ctx, agent.ID)
	})
}

// SessionClosed implements gateway.Sessions.
func (l ledger) SessionClosed(ctx context.Context, agentID, sessionID string) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended, err := tx.EndSession(ctx, agentID, sessionID)
		if err != nil || !ended {
			return err
		}
		row, err := tx.Agent(ctx, agentID)
		if err != nil {
			return err
		}
		return tx.TouchConductor(ctx, conductorName(row), false)
	})
}

// DeliverCommands implements gateway.Commands.
func (l ledger) DeliverCommands(ctx context.Context, agentID string, after int64, limit int) ([]metal.CommandRecord, error) {
	return l.store.DeliverCommands(ctx, agentID, after, limit)
}

// Subscribe implements gateway.Commands.
func (l ledger) Subscribe(agentID string) (<-chan struct{}, func()) {
	return l.store.Subscribe(store.AgentTopic(agentID))
}

// SaveResult implements gateway.Results: the result, its proof and the event
// that lets the node go on are one transaction. The first result counts, and so
// does its proof.
func (l ledger) SaveResult(ctx context.Context, agentID string, result metal.CommandResult, envelope string) error {
	return l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		command, err := tx.Command(ctx, result.CommandID)
		if err != nil {
			return err
		}
		if command.AgentID != agentID {
			return metal.Errorf(metal.NotFound, "Agent %s has no command %s.", agentID, result.CommandID)
		}
		if command.Result != nil {
			return nil
		}
		if err := tx.KeepProof(ctx, command.ID, envelope); err != nil {
			return err
		}
		return tx.Settle(ctx, &command, result)
	})
}

// removalBatch is how many commands are settled at once, and so how many nodes
// one transaction locks, in the order of their UUIDs.
const removalBatch = 100

// Remove ends an agent for good. It is no conductor any more, and what it was
// doing has an unknown outcome: the nodes look at the hardware through another
// agent, or fail with the word that there is none.
func (l ledger) Remove(ctx context.Context, id string) error {
	err := l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := tx.Agent(ctx, id)
		if err != nil {
			return err
		}
		if row.RevokedAt != nil {
			return removedBefore(id)
		}
		if err := tx.DeleteConductor(ctx, conductorName(row)); err != nil {
			return err
		}
		return tx.RevokeAgent(ctx, id)
	})
	for more := true; more && err == nil; {
		err = l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			pending, err := tx.UnfinishedCommands(ctx, id, removalBatch)
			more = len(pending) == removalBatch
			if err != nil {
				return err
			}
			return l.giveUp(ctx, tx, pending)
		})
	}
	return err
}

func (l ledger) giveUp(ctx context.Context, tx *store.Tx, pending []metal.CommandRecord) error {
	slices.SortStableFunc(pending, func(a, b metal.CommandRecord) int { return strings.Compare(a.NodeUUID, b.NodeUUID) })
	for i := range pending {
		result := metal.CommandResult{
			CommandID: pending[i].ID, ErrorCode: metal.CodeOutcomeUnknown, FinishedAt: time.Now().UTC(),
			Message: "the site agent " + pending[i].AgentID + " was removed before it told what came of this",
		}
		if err := tx.Settle(ctx, &pending[i], result); err != nil {
			return err
		}
	}
	return nil
}

// observedBatch bounds how many nodes one transaction locks.
const observedBatch = 100

// Observed implements gateway.Observations. Only what an agent says of nodes
// of its own site is heard. The nodes are locked in the order of their UUIDs, so
// that no two agents' observations wait for each other. A batch that fails leaves
// those before it in place: the agent sends all again, and twice means the same.
func (l ledger) Observed(ctx context.Context, agent trust.AgentName, seen []link.Observation) error {
	seen = slices.Clone(seen)
	slices.SortStableFunc(seen, func(a, b link.Observation) int { return strings.Compare(a.NodeUUID, b.NodeUUID) })
	for batch := range slices.Chunk(seen, observedBatch) {
		err := l.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
			for _, o := range batch {
				if err := l.observed(ctx, tx, agent, o); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (l ledger) observed(ctx context.Context, tx *store.Tx, agent trust.AgentName, o link.Observation) error {
	node, err := tx.NodeByUUID(ctx, o.NodeUUID)
	switch {
	case metal.ReasonOf(err) == metal.NotFound:
		return nil
	case err != nil:
		return err
	case node.ConductorGroup != agent.Site || o.Kind != link.ObservedPower:
		l.log.WarnContext(ctx, "an agent's observation is not heard", "agent", agent.ID, "node", o.NodeUUID, "kind", o.Kind)
		return nil
	}
	err = tx.Post(ctx, node.UUID, metal.InboxPower, metal.ToJSON(metal.PowerPayload{
		State: o.PowerState, Health: o.Health, ErrorCode: o.ErrorCode, Message: o.Message, SeenAt: o.SeenAt,
	}))
	if metal.ReasonOf(err) == metal.NotFound {
		return nil // deleted between the two statements
	}
	return err
}

// Command implements gateway.SecretRequests.
func (l ledger) Command(ctx context.Context, id string) (metal.CommandRecord, error) {
	return l.store.Command(ctx, id)
}

// UseRequestID implements gateway.SecretRequests.
func (l ledger) UseRequestID(ctx context.Context, agentID, requestID string, until time.Time) (bool, error) {
	return l.store.UseRequestID(ctx, agentID, requestID, until)
}

// Secret implements trust.Secrets.
func (l ledger) Secret(ctx context.Context, ref, sealedFor string) ([]byte, error) {
	sealed, err := l.store.SealedSecret(ctx, ref)
	if err != nil {
		return nil, err
	}
	return l.sealer.Open(sealed.Name(sealedFor), sealed.Sealed)
}
