package store

import (
	"context"
	"time"

	"ferrule/metal"
)

var inbox = newTable("inbox", func(e *metal.InboxEntry) []field {
	return []field{
		fixed("id", &e.ID),
		fixed("node_uuid", &e.NodeUUID),
		fixed("kind", (*string)(&e.Kind)),
		fixed("payload", (*string)(&e.Payload)),
		fixed("created_at", instant{&e.CreatedAt}),
	}
})

// Post puts an event into the node's inbox, under the node's lock, and sees to
// it that an advance comes for it: one is on its way where the wake mark is
// set, and only where it is clear is a job inserted.
func (tx *Tx) Post(ctx context.Context, nodeUUID string, kind metal.InboxKind, payload metal.JSON) error {
	if err := tx.claim(nodeUUID); err != nil {
		return err
	}
	var wake bool
	found, err := tx.c.scalar(ctx, &wake, "SELECT wake FROM nodes WHERE uuid = ?"+tx.c.lock, nodeUUID)
	if err != nil {
		return failed(err, "post %s to node %s", kind, nodeUUID)
	}
	if !found {
		return nodeNotFound(nodeUUID)
	}
	e := metal.InboxEntry{ID: tx.newID(), NodeUUID: nodeUUID, Kind: kind, Payload: payload, CreatedAt: tx.now()}
	if _, err := inbox.insert(ctx, tx.c, &e); err != nil {
		return failed(err, "post %s to node %s", kind, nodeUUID)
	}
	if wake {
		return nil
	}
	if _, err := tx.c.exec(ctx, "UPDATE nodes SET wake = TRUE WHERE uuid = ?", nodeUUID); err != nil {
		return failed(err, "wake node %s", nodeUUID)
	}
	return tx.insertJob(ctx, AdvanceArgs{NodeUUID: nodeUUID}, time.Time{})
}

// TakeInbox clears the node's wake mark and takes all events out of its inbox,
// oldest first. They are gone with this transaction's commit: each is handled
// once. A node that is not there has none.
func (tx *Tx) TakeInbox(ctx context.Context, nodeUUID string) ([]metal.InboxEntry, error) {
	if err := tx.claim(nodeUUID); err != nil {
		return nil, err
	}
	found, err := tx.c.exec(ctx, "UPDATE nodes SET wake = FALSE WHERE uuid = ?", nodeUUID)
	if err != nil || found == 0 {
		return nil, failed(err, "take the inbox of node %s", nodeUUID)
	}
	entries, err := inbox.list(ctx, tx.c, "WHERE node_uuid = ? ORDER BY id", nodeUUID)
	if err != nil || len(entries) == 0 {
		return nil, failed(err, "take the inbox of node %s", nodeUUID)
	}
	if _, err := tx.c.exec(ctx, "DELETE FROM inbox WHERE node_uuid = ?", nodeUUID); err != nil {
		return nil, failed(err, "take the inbox of node %s", nodeUUID)
	}
	return entries, nil
}

// Rewake inserts an advance for each node that has had an unread event since
// before olderThan: the net under the wake marks. It gives their number.
func (tx *Tx) Rewake(ctx context.Context, olderThan time.Time) (int, error) {
	rows, err := tx.c.query(ctx, "SELECT DISTINCT node_uuid FROM inbox WHERE created_at < ? LIMIT 1000", olderThan)
	if err != nil {
		return 0, failed(err, "look for forgotten events")
	}
	defer rows.Close()
	var late []string
	for rows.Next() {
		var uuid string
		if err := rows.Scan(&uuid); err != nil {
			return 0, failed(err, "look for forgotten events")
		}
		late = append(late, uuid)
	}
	if err := rows.Err(); err != nil {
		return 0, failed(err, "look for forgotten events")
	}
	if err := rows.Close(); err != nil {
		return 0, failed(err, "look for forgotten events")
	}
	for _, uuid := range late {
		if err := tx.insertJob(ctx, AdvanceArgs{NodeUUID: uuid}, time.Time{}); err != nil {
			return 0, err
		}
	}
	return len(late), nil
}
