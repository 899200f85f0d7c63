package store_test

import (
	"context"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// A request looks at the node before the transaction in which it writes what
// belongs to it, and the node may go in between.
func TestWhatComesForADeletedNodeIsAConflict(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n, m := storetest.Node(t, s, nil), storetest.Node(t, s, nil)
		port := addPort(t, s, m.UUID, "52:54:00:cc:00:01", nil)
		connector := metal.VolumeConnector{UUID: storetest.UUID(), NodeUUID: m.UUID, Type: "iqn", ConnectorID: "a"}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertVolumeConnector(ctx, &connector); err != nil {
				return err
			}
			return tx.DeleteNode(ctx, n.UUID)
		})
		port.NodeUUID, connector.NodeUUID = n.UUID, n.UUID
		gone := n.UUID
		for what, write := range map[string]func(ctx context.Context, tx *store.Tx) error{
			"port": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertPort(ctx, &metal.Port{UUID: storetest.UUID(), NodeUUID: gone, Address: "52:54:00:cc:00:02"})
			},
			"port that moves": func(ctx context.Context, tx *store.Tx) error { return tx.UpdatePort(ctx, &port) },
			"portgroup": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertPortgroup(ctx, &metal.Portgroup{UUID: storetest.UUID(), NodeUUID: gone})
			},
			"connector": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertVolumeConnector(ctx, &metal.VolumeConnector{UUID: storetest.UUID(), NodeUUID: gone, Type: "iqn", ConnectorID: "b"})
			},
			"connector that moves": func(ctx context.Context, tx *store.Tx) error {
				return tx.UpdateVolumeConnector(ctx, &connector)
			},
			"target": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertVolumeTarget(ctx, &metal.VolumeTarget{UUID: storetest.UUID(), NodeUUID: gone, VolumeType: "iscsi", VolumeID: "v"})
			},
			"allocation": func(ctx context.Context, tx *store.Tx) error {
				return tx.InsertAllocation(ctx, &metal.Allocation{UUID: storetest.UUID(), NodeUUID: &gone, State: "active"})
			},
			"history": func(ctx context.Context, tx *store.Tx) error {
				return tx.AddHistory(ctx, &metal.HistoryEntry{UUID: storetest.UUID(), NodeUUID: gone})
			},
		} {
			t.Run(what, func(t *testing.T) {
				wantRefusal(t, s.Write(t.Context(), write), metal.Conflict, "was deleted by another request meanwhile")
			})
		}
	})
}
