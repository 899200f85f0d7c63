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

// PendingCommands lists an agent's commands without a result that come behind
// the cursor afterSeq or were never sent, in the order of their commits.
func (r reads) PendingCommands(ctx context.Context, agentID string, afterSeq int64, limit int) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c,
		"WHERE agent_id = ? AND finished_at IS NULL AND (seq > ? OR status = ?) ORDER BY seq LIMIT ?",
		agentID, afterSeq, string(metal.CommandQueued), limit)
	return list, failed(err, "list commands for agent %s", agentID)
}

// QueuedCommandsOf lists a node's commands for one agent that have no result,
// in the order in which they were committed.
func (r reads) QueuedCommandsOf(ctx context.Context, nodeUUID, agentID string) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c,
		"WHERE node_uuid = ? AND agent_id = ? AND finished_at IS NULL ORDER BY seq", nodeUUID, agentID)
	return list, failed(err, "list queued commands of node %s", nodeUUID)
}

// CommandsOf lists a node's commands, newest first.
func (r reads) CommandsOf(ctx context.Context, nodeUUID string, limit int) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c, "WHERE node_uuid = ? ORDER BY issued_at DESC, seq DESC LIMIT ?", nodeUUID, limit)
	return list, failed(err, "list commands of node %s", nodeUUID)
}

// ExpiredCommands lists commands that have no result although they could not
// have begun since before.
func (r reads) ExpiredCommands(ctx context.Context, before time.Time, limit int) ([]metal.CommandRecord, error) {
	list, err := commands.list(ctx, r.c, "WHERE finished_at IS NULL AND expires_at < ? ORDER BY expires_at LIMIT ?",
		before, limit)
	return list, failed(err, "list expired commands")
}

// InsertCommand adds a command and sets its Seq and Status: the agent's next
// number, held until the commit, so that a cursor never passes a command by.
func (tx *Tx) InsertCommand(ctx context.Context, c *metal.CommandRecord) error {
	found, err := tx.c.scalar(ctx, &c.Seq, `INSERT INTO command_sequences (agent_id, seq) VALUES (?, 1)
		ON CONFLICT (agent_id) DO UPDATE SET seq = command_sequences.seq + 1 RETURNING seq`, c.AgentID)
	if err != nil || !found {
		return failed(err, "number command %s", c.ID)
	}
	c.Status = metal.CommandQueued
	if c.IssuedAt.IsZero() {
		c.IssuedAt = tx.now()
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

// MarkSent records that a queued command is on a stream, and reports whether
// this call did it: of several who want to take it, one.
func (tx *Tx) MarkSent(ctx context.Context, id string) (bool, error) {
	n, err := tx.c.exec(ctx, "UPDATE commands SET status = ? WHERE id = ? AND status = ?",
		string(metal.CommandSent), id, string(metal.CommandQueued))
	return n == 1, failed(err, "mark command %s", id)
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
