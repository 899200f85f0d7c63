package store

import (
	"context"
	"errors"
	"time"

	"ferrule/metal"
)

var commands = newTable("commands", func(c *metal.CommandRecord) []field {
	return []field{
		fixed("id", &c.ID),
		fixed("seq", &c.Seq),
		fixed("node_uuid", nullEmpty{&c.NodeUUID}),
		fixed("operation_id", &c.OperationID),
		fixed("agent_id", &c.AgentID),
		fixed("kind", (*string)(&c.Kind)),
		fixed("operation", (*string)(&c.Operation)),
		fixed("envelope", &c.Envelope),
		col("status", (*string)(&c.Status)),
		col("result", jsonValue{&c.Result}),
		fixed("issued_at", instant{&c.IssuedAt}),
		fixed("expires_at", instant{&c.ExpiresAt}),
		col("finished_at", optTime{&c.FinishedAt}),
	}
})

// Command finds a command.
func (r reads) Command(ctx context.Context, id string) (metal.CommandRecord, error) {
	c, err := commands.get(ctx, r.c, "WHERE id = ?", id)
	if errors.Is(err, errNoRow) {
		return c, commandNotFound(id)
	}
	return c, failed(err, "read command %s", id)
}

func commandNotFound(id string) error {
	return metal.Errorf(metal.NotFound, "Command %s could not be found.", id)
}

// DeliverCommands lists an agent's commands that have no result and whose number
// is greater than the cursor afterSeq, in the order of their numbers. First it
// numbers those that have none.
//
// A command's number is not given when the command is inserted: whoever gives
// numbers must keep the counter's row locked until its commit, and so would make
// all nodes of the agent wait for one. Here the transaction is short and no
// node's. Because the lock is held until the commit, the order of numbers is the
// order of commits, so that what a reader has not seen yet has a greater number
// than what it has: a cursor passes no command by.
func (s *Store) DeliverCommands(ctx context.Context, agentID string, afterSeq int64, limit int) ([]metal.CommandRecord, error) {
	for {
		list, err := commands.list(ctx, s.c,
			"WHERE agent_id = ? AND finished_at IS NULL AND (seq > ? OR seq = 0) ORDER BY seq LIMIT ?", agentID, afterSeq, limit)
		if err != nil {
			return nil, failed(err, "list commands for agent %s", agentID)
		}
		if len(list) == 0 || list[0].Seq > 0 {
			return list, nil
		}
		err = s.Write(ctx, func(ctx context.Context, tx *Tx) error { return tx.numberCommands(ctx, agentID, limit) })
		if err != nil {
			return nil, err
		}
	}
}

// numberCommands gives the next numbers to commands that have none. Those of one
// node get them in the order in which they were committed.
func (tx *Tx) numberCommands(ctx context.Context, agentID string, limit int) error {
	var last int64
	_, err := tx.c.scalar(ctx, &last, `INSERT INTO command_sequences (agent_id, seq) VALUES (?, 0)
		ON CONFLICT (agent_id) DO UPDATE SET seq = command_sequences.seq RETURNING seq`, agentID)
	if err != nil {
		return failed(err, "lock the command counter of agent %s", agentID)
	}
	list, err := commands.list(ctx, tx.c,
		"WHERE agent_id = ? AND finished_at IS NULL AND seq = 0 ORDER BY issued_at, id LIMIT ?", agentID, limit)
	if err != nil {
		return failed(err, "list new commands for agent %s", agentID)
	}
	for _, c := range list {
		last++
		if _, err := tx.c.exec(ctx, "UPDATE commands SET seq = ?, status = ? WHERE id = ? AND finished_at IS NULL",
			last, string(metal.CommandSent), c.ID); err != nil {
			return failed(err, "number command %s", c.ID)
		}
	}
	_, err = tx.c.exec(ctx, "UPDATE command_sequences SET seq = ? WHERE agent_id = ?", last, agentID)
	return failed(err, "advance the command counter of agent %s", agentID)
}

// UnfinishedCommands lists an agent's commands that have no result, delivered or
// not.
func (r reads) UnfinishedCommands(ctx context.Context, agentID string, limit int) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c, "WHERE agent_id = ? AND finished_at IS NULL ORDER BY seq, issued_at, id LIMIT ?",
		agentID, limit)
	return list, failed(err, "list unfinished commands of agent %s", agentID)
}

// QueuedCommandsOf lists a node's commands for one agent that have no result,
// in the order in which they were committed.
func (r reads) QueuedCommandsOf(ctx context.Context, nodeUUID, agentID string) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c,
		"WHERE node_uuid = ? AND agent_id = ? AND finished_at IS NULL ORDER BY issued_at, id", nodeUUID, agentID)
	return list, failed(err, "list queued commands of node %s", nodeUUID)
}

// CommandsOf lists a node's commands, newest first.
func (r reads) CommandsOf(ctx context.Context, nodeUUID string, limit int) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c, "WHERE node_uuid = ? ORDER BY issued_at DESC, id DESC LIMIT ?", nodeUUID, limit)
	return list, failed(err, "list commands of node %s", nodeUUID)
}

// ExpiredCommands lists commands that have no result although they could not
// have begun since before.
func (r reads) ExpiredCommands(ctx context.Context, before time.Time, limit int) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c, "WHERE finished_at IS NULL AND expires_at < ? ORDER BY expires_at LIMIT ?",
		before, limit)
	return list, failed(err, "list expired commands")
}

// InsertCommand adds a command, sets its Status and, so that the order of a
// node's commands is that of their IssuedAt whichever process issues them, moves
// IssuedAt behind that of the node's unfinished ones. The caller has locked the
// node.
func (tx *Tx) InsertCommand(ctx context.Context, c *metal.CommandRecord) error {
	c.Seq, c.Status = 0, metal.CommandQueued
	if c.IssuedAt.IsZero() {
		c.IssuedAt = tx.now()
	}
	if c.NodeUUID != "" {
		last, err := commands.list(ctx, tx.c,
			"WHERE node_uuid = ? AND finished_at IS NULL ORDER BY issued_at DESC LIMIT 1", c.NodeUUID)
		if err != nil {
			return failed(err, "insert command %s", c.ID)
		}
		if len(last) == 1 && !c.IssuedAt.After(last[0].IssuedAt) {
			c.IssuedAt = last[0].IssuedAt.Add(time.Microsecond)
		}
	}
	added, err := commands.insert(ctx, tx.c, c)
	if err != nil {
		return failed(err, "insert command %s", c.ID)
	}
	if !added {
		return metal.Errorf(metal.Conflict, "A command with ID %s already exists.", c.ID)
	}
	tx.wake(AgentTopic(c.AgentID))
	return nil
}

// FinishCommand stores a command's result. The first one counts; first is
// false for a later one, which changes nothing.
func (tx *Tx) FinishCommand(ctx context.Context, id string, result metal.CommandResult) (first bool, err error) {
	outcome := &result
	n, err := tx.c.exec(ctx, "UPDATE commands SET status = ?, result = ?, finished_at = ? WHERE id = ? AND finished_at IS NULL",
		string(metal.CommandDone), jsonValue{&outcome}, tx.now(), id)
	if err != nil {
		return false, failed(err, "finish command %s", id)
	}
	if n == 0 {
		_, err := tx.Command(ctx, id)
		return false, err
	}
	tx.wake(CommandTopic(id))
	return true, nil
}

// Settle stores a command's result and, where it is the first and an operation
// waits for it, tells the node. That the node is gone is no error.
func (tx *Tx) Settle(ctx context.Context, c *metal.CommandRecord, result metal.CommandResult) error {
	first, err := tx.FinishCommand(ctx, c.ID, result)
	if err != nil || !first || c.OperationID == "" {
		return err
	}
	err = tx.Post(ctx, c.NodeUUID, metal.InboxResult, metal.ToJSON(metal.ResultPayload{
		CommandID: c.ID, OperationID: c.OperationID, Result: result,
	}))
	if metal.ReasonOf(err) == metal.NotFound {
		return nil
	}
	return err
}

// KeepProof stores the envelope in which the agent attested the result.
func (tx *Tx) KeepProof(ctx context.Context, commandID, envelope string) error {
	n, err := tx.c.exec(ctx, "UPDATE commands SET proof = ? WHERE id = ?", envelope, commandID)
	if err == nil && n == 0 {
		return commandNotFound(commandID)
	}
	return failed(err, "keep the proof of command %s", commandID)
}

// DropCommands forgets commands that ended before, most at a time, and gives
// their number.
func (tx *Tx) DropCommands(ctx context.Context, before time.Time, most int) (int64, error) {
	n, err := tx.c.exec(ctx, `DELETE FROM commands WHERE id IN
		(SELECT id FROM commands WHERE finished_at < ? ORDER BY finished_at LIMIT ?)`, before, most)
	return n, failed(err, "drop old commands")
}
