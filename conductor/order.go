package conductor

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/google/uuid"

	"ferrule/conductor/runner"
	"ferrule/metal"
	"ferrule/store"
)

// newToken is a ramdisk token as Ironic makes them: 32 random bytes, URL-safe.
func newToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b)
}

// order signs a command and queues it in the transaction.
func (c *Conductor) order(ctx context.Context, tx *store.Tx, nodeUUID string, o runner.Order) error {
	kind, ok := metal.CommandKind(o.Request.Operation)
	if !ok {
		return fmt.Errorf("no kind of command covers the operation %s", o.Request.Operation)
	}
	return c.orderAs(ctx, tx, nodeUUID, kind, o)
}

func (c *Conductor) orderAs(ctx context.Context, tx *store.Tx, nodeUUID string, kind metal.Kind, o runner.Order) error {
	// Whoever made the request has checked this; nothing is signed without it.
	if err := o.Request.CheckSecrets(nodeUUID); err != nil {
		return err
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	command := metal.Command{
		ID: o.ID, Kind: kind, NodeUUID: nodeUUID, AgentID: o.AgentID, IssuedAt: now, ExpiresAt: o.Expires,
		Authority: metal.Authority{Type: metal.AuthorityNone}, Request: o.Request,
	}
	envelope := string(metal.ToJSON(command))
	if o.AgentID != metal.LocalAgent {
		var err error
		if envelope, err = c.Signer.Sign(command); err != nil {
			return fmt.Errorf("sign command %s: %w", o.ID, err)
		}
	}
	return tx.InsertCommand(ctx, &metal.CommandRecord{
		ID: o.ID, NodeUUID: nodeUUID, OperationID: o.OperationID, AgentID: o.AgentID, Kind: kind,
		Operation: o.Request.Operation, Envelope: envelope, IssuedAt: now, ExpiresAt: o.Expires,
	})
}

// askPatience is the longest that a caller waits for one command's result.
const askPatience = 60 * time.Second

// Do carries out one operation on behalf of a caller that waits for it, such
// as GET …/management/boot_device. No answer in time is metal.Unavailable and
// names the agent.
func (c *Conductor) Do(ctx context.Context, node *metal.Node, req metal.Request) (metal.CommandResult, error) {
	list, err := c.Store.Conductors(ctx)
	if err != nil {
		return metal.CommandResult{}, err
	}
	agent := c.directory(list).agentFor(node)
	switch agent {
	case metal.LocalAgent:
		return c.Local.Execute(ctx, req), nil
	case "":
		return metal.CommandResult{}, metal.Errorf(metal.Unavailable,
			"No site agent serves driver %s at site %q. Join one, or see that it is connected.", node.Driver, node.ConductorGroup)
	}
	id := uuid.NewString()
	wakes, cancel := c.Store.Subscribe(store.CommandTopic(id))
	defer cancel()
	err = c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return c.order(ctx, tx, node.UUID, runner.Order{ID: id, AgentID: agent, Request: req, Expires: time.Now().Add(askPatience)})
	})
	if err != nil {
		return metal.CommandResult{}, err
	}
	return c.awaitResult(ctx, id, agent, wakes)
}

func (c *Conductor) awaitResult(ctx context.Context, id, agent string, wakes <-chan struct{}) (metal.CommandResult, error) {
	patience := time.NewTimer(askPatience)
	defer patience.Stop()
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	for {
		rec, err := c.Store.Command(ctx, id)
		if err != nil {
			return metal.CommandResult{}, err
		}
		if rec.Result != nil {
			return *rec.Result, nil
		}
		select {
		case <-ctx.Done():
			return metal.CommandResult{}, ctx.Err()
		case <-patience.C:
			return metal.CommandResult{}, metal.Errorf(metal.Unavailable,
				"The site agent %s did not answer within %s. See that it is connected, and retry.", agent, askPatience)
		case <-wakes:
		case <-poll.C:
		}
	}
}
