package store_test

import (
	"context"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestAChassisComesBackAsItWasWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var want metal.Chassis
		fill(t, &want)
		want.UUID = storetest.UUID()
		life[metal.Chassis]{
			noun: "Chassis", insert: onTx((*store.Tx).InsertChassis), update: onTx((*store.Tx).UpdateChassis),
			remove: onTx((*store.Tx).DeleteChassis), read: s.Chassis,
			uuid:   func(c *metal.Chassis) string { return c.UUID },
			change: func(c *metal.Chassis) { c.Description = nil },
		}.run(t, s, want)
	})
}

func TestAChassisWithNodesStays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		c, empty := metal.Chassis{UUID: storetest.UUID()}, metal.Chassis{UUID: storetest.UUID()}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertChassis(ctx, &c); err != nil {
				return err
			}
			return tx.InsertChassis(ctx, &empty)
		})
		list, err := s.ChassisList(t.Context(), store.Page{Desc: true})
		wantNames(t, list, err, func(c *metal.Chassis) string { return c.UUID }, empty.UUID, c.UUID)
		n := storetest.Node(t, s, func(n *metal.Node) { n.ChassisUUID = &c.UUID })
		remove := func(ctx context.Context, tx *store.Tx) error { return tx.DeleteChassis(ctx, c.UUID) }
		wantRefusal(t, s.Write(t.Context(), remove), metal.Invalid, "contains nodes")
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		storetest.Write(t, s, remove)
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.EnterChassis(ctx, c.UUID) })
		wantRefusal(t, err, metal.NotFound, "Chassis "+c.UUID)
	})
}

func TestVolumesComeBackAsTheyWereWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n, m := storetest.Node(t, s, nil), storetest.Node(t, s, nil)
		var connector metal.VolumeConnector
		fill(t, &connector)
		connector.UUID, connector.NodeUUID = storetest.UUID(), n.UUID
		life[metal.VolumeConnector]{
			noun: "Volume connector", insert: onTx((*store.Tx).InsertVolumeConnector), update: onTx((*store.Tx).UpdateVolumeConnector),
			remove: onTx((*store.Tx).DeleteVolumeConnector), read: s.VolumeConnector,
			uuid:   func(v *metal.VolumeConnector) string { return v.UUID },
			change: func(v *metal.VolumeConnector) { v.NodeUUID, v.Type = m.UUID, "iqn" },
		}.run(t, s, connector)
		var target metal.VolumeTarget
		fill(t, &target)
		target.UUID, target.NodeUUID = storetest.UUID(), n.UUID
		life[metal.VolumeTarget]{
			noun: "Volume target", insert: onTx((*store.Tx).InsertVolumeTarget), update: onTx((*store.Tx).UpdateVolumeTarget),
			remove: onTx((*store.Tx).DeleteVolumeTarget), read: s.VolumeTarget,
			uuid:   func(v *metal.VolumeTarget) string { return v.UUID },
			change: func(v *metal.VolumeTarget) { v.NodeUUID, v.BootIndex = m.UUID, -3 },
		}.run(t, s, target)
	})
}

func TestVolumesAreFoundAndGoWithTheirNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, func(n *metal.Node) { n.Owner = ptr("p") })
		m := storetest.Node(t, s, nil)
		connect := func(node, id string) error {
			v := metal.VolumeConnector{UUID: storetest.UUID(), NodeUUID: node, Type: "iqn", ConnectorID: id}
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertVolumeConnector(ctx, &v) })
		}
		aim := func(node, id string, index int64) error {
			v := metal.VolumeTarget{UUID: storetest.UUID(), NodeUUID: node, VolumeType: "iscsi", VolumeID: id, BootIndex: index}
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertVolumeTarget(ctx, &v) })
		}
		for _, err := range []error{
			connect(n.UUID, "a"), connect(m.UUID, "b"), aim(n.UUID, "a", 0), aim(n.UUID, "b", 1), aim(m.UUID, "c", 0),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, connect(m.UUID, "a"), metal.Conflict, "type iqn and connector ID a already exists")
		wantRefusal(t, aim(n.UUID, "d", 1), metal.Conflict, "boot index 1 for the same node already exists")
		id := func(v *metal.VolumeTarget) string { return v.VolumeID }
		targets, err := s.VolumeTargets(t.Context(), store.VolumeQuery{NodeUUID: &n.UUID, Page: store.Page{SortKey: "boot_index", Desc: true}})
		wantNames(t, targets, err, id, "b", "a")
		targets, err = s.VolumeTargets(t.Context(), store.VolumeQuery{Project: ptr("p")})
		wantNames(t, targets, err, id, "a", "b")
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		targets, err = s.VolumeTargets(t.Context(), store.VolumeQuery{})
		wantNames(t, targets, err, id, "c")
		connectors, err := s.VolumeConnectors(t.Context(), store.VolumeQuery{})
		wantNames(t, connectors, err, func(v *metal.VolumeConnector) string { return v.ConnectorID }, "b")
	})
}
