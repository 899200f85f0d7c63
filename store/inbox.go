package store

import (
	"context"
	"errors"
	"time"

	"ferrule/metal"
)

var inbox = newTable("inbox", func(e *metal.InboxEntry) []field {
	return []field{
		fixed("id", &e.ID),
		fixed("node_uuid", &e.NodeUUID),
		fixed("kind", (*string)(&e.Kind)),
		fixed("payload", (*string)(&e.Payload)),
		fixed("failures", &e.Failures),
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
	taken, _, err := tx.TakeFirst(ctx, nodeUUID, func(all []metal.InboxEntry) int { return len(all) })
	return taken, err
}

// TakeFirst is as TakeInbox, but takes only the first so many events. Where
// some are left, the wake mark stays: the caller comes again for them.
func (tx *Tx) TakeFirst(ctx context.Context, nodeUUID string, count func(all []metal.InboxEntry) int) (taken []metal.InboxEntry, left bool, err error) {
	if err := tx.claim(nodeUUID); err != nil {
		return nil, false, err
	}
	all, err := inbox.list(ctx, tx.c, "WHERE node_uuid = ? ORDER BY id", nodeUUID)
	if err != nil {
		return nil, false, failed(err, "read the inbox of node %s", nodeUUID)
	}
	taken = all[:count(all)]
	left = len(taken) < len(all)
	if !left {
		if _, err := tx.c.exec(ctx, "UPDATE nodes SET wake = FALSE WHERE uuid = ?", nodeUUID); err != nil {
			return nil, false, failed(err, "take the inbox of node %s", nodeUUID)
		}
	}
	if len(taken) == 0 {
		return nil, left, nil
	}
	_, err = tx.c.exec(ctx, "DELETE FROM inbox WHERE node_uuid = ? AND id <= ?", nodeUUID, taken[len(taken)-1].ID)
	return taken, left, failed(err, "take the inbox of node %s", nodeUUID)
}

// Rewake wakes each node that has had an unread event since before olderThan and
// that no job comes for: the net under the wake marks. It gives their number.
func (tx *Tx) Rewake(ctx context.Context, olderThan time.Time) (int, error) {
	late, err := tx.lateNodes(ctx, olderThan)
	if err != nil || len(late) == 0 {
		return 0, err
	}
	jobs, err := tx.AdvanceJobs(ctx)
	if err != nil {
		return 0, err
	}
	queued, woken := 0, 0
	for _, n := range jobs {
		queued += n
	}
	if queued >= mostJobs {
		return 0, nil // a longer queue is not listed whole, and nobody is forgotten while it moves
	}
	for _, uuid := range late {
		if jobs[uuid] > 0 {
			continue // it waits for its turn, or for its next try
		}
		if _, err := tx.c.exec(ctx, "UPDATE nodes SET wake = TRUE WHERE uuid = ?", uuid); err != nil {
			return 0, failed(err, "wake node %s", uuid)
		}
		if err := tx.insertJob(ctx, AdvanceArgs{NodeUUID: uuid}, time.Time{}); err != nil {
			return 0, err
		}
		woken++
	}
	return woken, nil
}

// mostLate is how many nodes are woken at once.
const mostLate = 1000

// lateNodes are in the order of their UUIDs, in which they are locked.
func (tx *Tx) lateNodes(ctx context.Context, olderThan time.Time) ([]string, error) {
	const doing = "look for forgotten events"
	rows, err := tx.c.query(ctx, "SELECT DISTINCT node_uuid FROM inbox WHERE created_at < ? ORDER BY node_uuid LIMIT ?", olderThan, mostLate)
	if err != nil {
		return nil, failed(err, doing)
	}
	defer rows.Close()
	var late []string
	for rows.Next() {
		var uuid string
		if err := rows.Scan(&uuid); err != nil {
			return nil, failed(err, doing)
		}
		late = append(late, uuid)
	}
	return late, failed(errors.Join(rows.Err(), rows.Close()), doing)
}
