package store

import (
	"context"
	"time"

	"ferrule/metal"
)

// StuckEntry is an entry of an inbox that could not be handled.
type StuckEntry struct {
	metal.InboxEntry
	OperationID string // the operation that was ended for it; "" for none
	Cause       string
	StuckAt     time.Time
}

var stuckEntries = newTable("stuck_entries", func(e *StuckEntry) []field {
	return []field{
		fixed("id", &e.ID),
		fixed("node_uuid", &e.NodeUUID),
		fixed("operation_id", &e.OperationID),
		fixed("kind", (*string)(&e.Kind)),
		fixed("payload", (*string)(&e.Payload)),
		fixed("cause", &e.Cause),
		fixed("created_at", instant{&e.CreatedAt}),
		fixed("stuck_at", instant{&e.StuckAt}),
	}
})

// mostStuck is how many entries are kept of one node, the newest.
const mostStuck = 20

// CountFailure notes that the entries could not be handled.
func (tx *Tx) CountFailure(ctx context.Context, entries []metal.InboxEntry) error {
	for _, e := range entries {
		if _, err := tx.c.exec(ctx, "UPDATE inbox SET failures = failures + 1 WHERE id = ?", e.ID); err != nil {
			return failed(err, "count a failure of entry %d of node %s", e.ID, e.NodeUUID)
		}
	}
	return nil
}

// SetAside takes an entry out of its inbox and keeps it for a look, with the
// reason and the operation that was ended for it.
func (tx *Tx) SetAside(ctx context.Context, e metal.InboxEntry, operationID, cause string) error {
	kept := StuckEntry{InboxEntry: e, OperationID: operationID, Cause: metal.StorableText(cause), StuckAt: tx.now()}
	if _, err := stuckEntries.insert(ctx, tx.c, &kept); err != nil {
		return failed(err, "keep entry %d of node %s", e.ID, e.NodeUUID)
	}
	if _, err := tx.c.exec(ctx, "DELETE FROM inbox WHERE id = ?", e.ID); err != nil {
		return failed(err, "set entry %d of node %s aside", e.ID, e.NodeUUID)
	}
	_, err := tx.c.exec(ctx, `DELETE FROM stuck_entries WHERE node_uuid = ? AND id NOT IN
		(SELECT id FROM stuck_entries WHERE node_uuid = ? ORDER BY id DESC LIMIT ?)`, e.NodeUUID, e.NodeUUID, mostStuck)
	return failed(err, "forget old entries of node %s", e.NodeUUID)
}

// StuckEntries lists the entries that could not be handled, newest first.
func (r reads) StuckEntries(ctx context.Context, limit int) ([]StuckEntry, error) {
	list, err := stuckEntries.list(ctx, r.c, "ORDER BY id DESC LIMIT ?", limit)
	return list, failed(err, "list entries that could not be handled")
}

// CountStuckEntries is their number.
func (r reads) CountStuckEntries(ctx context.Context) (int64, error) {
	var n int64
	_, err := r.c.scalar(ctx, &n, "SELECT count(*) FROM stuck_entries")
	return n, failed(err, "count entries that could not be handled")
}
