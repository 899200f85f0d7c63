package store

import (
	"context"
	"errors"

	"ferrule/metal"
)

var history = newTable("node_history", func(h *metal.HistoryEntry) []field {
	return []field{
		fixed("id", &h.ID),
		fixed("uuid", &h.UUID),
		fixed("node_uuid", &h.NodeUUID),
		fixed("severity", &h.Severity),
		fixed("event_type", &h.EventType),
		col("event", &h.Event),
		fixed("conductor", &h.Conductor),
		fixed("user_id", optText{&h.User}),
		fixed("project_id", optText{&h.Project}),
		fixed("state", nullEmpty{(*string)(&h.State)}),
		fixed("target_provision_state", nullEmpty{(*string)(&h.TargetProvisionState)}),
		fixed("duration_seconds", optInt{&h.DurationSeconds}),
		fixed("created_at", instant{&h.CreatedAt}),
	}
})

// HistoryQuery pages through a node's history.
type HistoryQuery struct {
	Page
}

// historyKeys are what history can be sorted by.
var historyKeys = sortable{
	"id": "id", "uuid": "uuid", "node_id": "node_uuid", "severity": "severity", "event_type": "event_type",
	"event": "event", "conductor": "conductor", "user": "user_id", "project": "project_id", "state": "state",
	"target_provision_state": "target_provision_state", "duration_seconds": "duration_seconds",
	"created_at": "created_at", "updated_at": "created_at",
}

// History lists what happened to a node.
func (r reads) History(ctx context.Context, nodeUUID string, q HistoryQuery) ([]metal.HistoryEntry, error) {
	if q.SortKey == "" {
		q.SortKey = "created_at"
	}
	f := selectFrom(r, history, nil)
	f.where("node_uuid = ?", nodeUUID)
	if err := page(ctx, r, f, q.Page, history, historyKeys, historyNotFound); err != nil {
		return nil, failed(err, "list history of node %s", nodeUUID)
	}
	list, err := history.find(ctx, r.c, f, nil)
	return list, failed(err, "list history of node %s", nodeUUID)
}

func historyNotFound(uuid string) error {
	return metal.Errorf(metal.NotFound, "Node history record %s could not be found.", uuid)
}

// HistoryEntry finds one entry of a node's history.
func (r reads) HistoryEntry(ctx context.Context, nodeUUID, uuid string) (metal.HistoryEntry, error) {
	h, err := history.get(ctx, r.c, "WHERE node_uuid = ? AND uuid = ?", nodeUUID, uuid)
	if errors.Is(err, errNoRow) {
		return h, historyNotFound(uuid)
	}
	return h, failed(err, "read history entry %s", uuid)
}

// AddHistory records what happened to a node, and sets the entry's ID and where
// it is not set CreatedAt.
func (tx *Tx) AddHistory(ctx context.Context, h *metal.HistoryEntry) error {
	h.ID = tx.newID()
	if h.CreatedAt.IsZero() {
		h.CreatedAt = tx.now()
	}
	added, err := history.insert(ctx, tx.c, h)
	if err == nil && !added {
		return metal.Errorf(metal.Conflict, "A history record with UUID %s already exists.", h.UUID)
	}
	return failed(err, "add history to node %s", h.NodeUUID)
}

// TrimHistory keeps the newest entries of a node's history.
func (tx *Tx) TrimHistory(ctx context.Context, nodeUUID string, keep int) error {
	_, err := tx.c.exec(ctx, `DELETE FROM node_history WHERE node_uuid = ? AND id NOT IN
		(SELECT id FROM node_history WHERE node_uuid = ? ORDER BY created_at DESC, id DESC LIMIT ?)`,
		nodeUUID, nodeUUID, keep)
	return failed(err, "trim history of node %s", nodeUUID)
}

var inventories = newTable("node_inventory", func(i *metal.InventoryRecord) []field {
	return []field{
		fixed("node_uuid", &i.NodeUUID),
		col("inventory", (*string)(&i.Inventory)),
		col("plugin_data", (*string)(&i.PluginData)),
		col("created_at", instant{&i.CreatedAt}),
	}
})

// Inventory is what the node's last inspection found.
func (r reads) Inventory(ctx context.Context, nodeUUID string) (metal.InventoryRecord, error) {
	i, err := inventories.get(ctx, r.c, "WHERE node_uuid = ?", nodeUUID)
	if errors.Is(err, errNoRow) {
		return i, metal.Errorf(metal.NotFound, "Node inventory record for node %s could not be found.", nodeUUID)
	}
	return i, failed(err, "read inventory of node %s", nodeUUID)
}

// PutInventory replaces what the last inspection found.
func (tx *Tx) PutInventory(ctx context.Context, i *metal.InventoryRecord) error {
	if i.CreatedAt.IsZero() {
		i.CreatedAt = tx.now()
	}
	added, err := inventories.insert(ctx, tx.c, i)
	if err == nil && !added {
		_, err = inventories.update(ctx, tx.c, i, " WHERE node_uuid = ?", i.NodeUUID)
	}
	return failed(err, "store inventory of node %s", i.NodeUUID)
}
