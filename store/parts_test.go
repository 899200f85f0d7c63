package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestBIOSSettingsAreThoseLastRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		var full metal.BIOSSetting
		fill(t, &full)
		sync := func(list ...metal.BIOSSetting) {
			t.Helper()
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SyncBIOSSettings(ctx, n.UUID, list) })
		}
		sync(full, metal.BIOSSetting{Name: "gone"}, metal.BIOSSetting{Name: "same", Value: ptr("1")})
		full.NodeUUID = n.UUID
		got, err := s.BIOSSetting(t.Context(), n.UUID, full.Name)
		ignore := cmpopts.IgnoreFields(metal.BIOSSetting{}, "CreatedAt", "UpdatedAt")
		if diff := cmp.Diff(full, got, ignore); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		sync(metal.BIOSSetting{Name: "same", Value: ptr("1")}, metal.BIOSSetting{Name: "new"}, metal.BIOSSetting{Name: full.Name})
		list, err := s.BIOSSettings(t.Context(), n.UUID)
		wantNames(t, list, err, func(b *metal.BIOSSetting) string {
			if b.UpdatedAt != nil {
				return b.Name + " changed"
			}
			return b.Name
		}, "new", "same", full.Name+" changed")
		_, err = s.BIOSSetting(t.Context(), n.UUID, "gone")
		wantRefusal(t, err, metal.NotFound, "'gone'")
	})
}

func TestFirmwareKeepsTheVersionItWasFirstSeenWith(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		sync := func(list ...metal.FirmwareComponent) {
			t.Helper()
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SyncFirmwareComponents(ctx, n.UUID, list) })
		}
		sync(metal.FirmwareComponent{Component: "bmc", CurrentVersion: ptr("1"), LastVersionFlashed: ptr("1")},
			metal.FirmwareComponent{Component: "bios", CurrentVersion: ptr("a")})
		sync(metal.FirmwareComponent{Component: "bmc", CurrentVersion: ptr("2"), Vendor: ptr("v")})
		list, err := s.FirmwareComponents(t.Context(), n.UUID)
		want := []metal.FirmwareComponent{{
			NodeUUID: n.UUID, Component: "bmc", InitialVersion: ptr("1"), CurrentVersion: ptr("2"), LastVersionFlashed: ptr("1"), Vendor: ptr("v"),
		}}
		ignore := cmpopts.IgnoreFields(metal.FirmwareComponent{}, "CreatedAt", "UpdatedAt")
		if diff := cmp.Diff(want, list, ignore); err != nil || diff != "" || list[0].UpdatedAt == nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		if list, err = s.FirmwareComponents(t.Context(), n.UUID); err != nil || len(list) > 0 {
			t.Errorf("after the node: %v, %v", list, err)
		}
	})
}

func TestShardsAreCounted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, shard := range []*string{ptr("b"), ptr("a"), nil, ptr("b"), ptr("b"), ptr("a")} {
			storetest.Node(t, s, func(n *metal.Node) { n.Shard = shard })
		}
		got, err := s.Shards(t.Context())
		want := []store.Shard{{Name: ptr("b"), Count: 3}, {Name: ptr("a"), Count: 2}, {Count: 1}}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
}
