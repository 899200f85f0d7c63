package store

import (
	"context"
	"errors"

	"ferrule/metal"
)

var operations = newTable("operations", func(o *metal.OperationRecord) []field {
	return []field{
		fixed("id", &o.ID),
		fixed("node_uuid", &o.NodeUUID),
		fixed("axis", (*string)(&o.Axis)),
		col("verb", &o.Verb),
		col("args", (*string)(&o.Args)),
		col("plan", (*string)(&o.Plan)),
		col("deadline", optTime{&o.Deadline}),
		fixed("request_id", &o.RequestID),
		fixed("user_id", optText{&o.User}),
		fixed("project_id", optText{&o.Project}),
		fixed("started_at", instant{&o.StartedAt}),
		col("finished_at", optTime{&o.FinishedAt}),
	}
})

// OpenOperations lists what the node is doing: at most one a axis.
func (r reads) OpenOperations(ctx context.Context, nodeUUID string) ([]metal.OperationRecord, error) {
	list, err := operations.list(ctx, r.c, "WHERE node_uuid = ? AND finished_at IS NULL ORDER BY axis", nodeUUID)
	return list, failed(err, "list operations of node %s", nodeUUID)
}

// Operation finds an operation, open or closed.
func (r reads) Operation(ctx context.Context, id string) (metal.OperationRecord, error) {
	o, err := operations.get(ctx, r.c, "WHERE id = ?", id)
	if errors.Is(err, errNoRow) {
		return o, operationNotFound(id)
	}
	return o, failed(err, "read operation %s", id)
}

func operationNotFound(id string) error {
	return metal.Errorf(metal.NotFound, "Operation %s could not be found.", id)
}

// OpenOperation records that the node begins to do something. StartedAt is set
// where it is not.
func (tx *Tx) OpenOperation(ctx context.Context, o *metal.OperationRecord) error {
	if o.StartedAt.IsZero() {
		o.StartedAt = tx.now()
	}
	ok, err := operations.insert(ctx, tx.c, o)
	if err != nil {
		return failed(err, "open operation %s", o.ID)
	}
	if !ok {
		return metal.Errorf(metal.Conflict,
			"Node %s is busy: another %s operation is under way. Wait for it to end, or abort it.", o.NodeUUID, o.Axis)
	}
	return nil
}

// SaveOperation writes the plan, deadline and arguments of an open operation.
func (tx *Tx) SaveOperation(ctx context.Context, o *metal.OperationRecord) error {
	n, err := operations.update(ctx, tx.c, o, " WHERE id = ?", o.ID)
	if err != nil {
		return failed(err, "save operation %s", o.ID)
	}
	if n == 0 {
		return operationNotFound(o.ID)
	}
	return nil
}

// CloseOperation ends an operation; the node may begin another on its axis.
func (tx *Tx) CloseOperation(ctx context.Context, o *metal.OperationRecord) error {
	now := tx.now()
	o.FinishedAt, o.Deadline = &now, nil
	return tx.SaveOperation(ctx, o)
}
