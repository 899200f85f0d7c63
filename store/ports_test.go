package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func addPort(t *testing.T, s *store.Store, nodeUUID, mac string, change func(*metal.Port)) metal.Port {
	t.Helper()
	p := metal.Port{UUID: storetest.UUID(), NodeUUID: nodeUUID, Address: mac, PXEEnabled: true}
	if change != nil {
		change(&p)
	}
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertPort(ctx, &p) })
	return p
}

func TestAPortComesBackAsItWasWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n, m := storetest.Node(t, s, nil), storetest.Node(t, s, nil)
		want := metal.Port{}
		fill(t, &want)
		want.UUID, want.NodeUUID = storetest.UUID(), n.UUID
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertPort(ctx, &want) })
		got, err := s.Port(t.Context(), want.UUID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
		stale := want
		want.NodeUUID, want.Name, want.PXEEnabled = m.UUID, nil, false
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.UpdatePort(ctx, &want) })
		got, err = s.PortByUUID(t.Context(), want.UUID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdatePort(ctx, &stale) })
		wantRefusal(t, err, metal.Conflict, want.UUID)
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeletePort(ctx, want.UUID) })
		_, err = s.Port(t.Context(), want.UUID)
		wantRefusal(t, err, metal.NotFound, "Port "+want.UUID+" could not be found.")
	})
}

func TestPortDuplicatesAreNamed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		p := addPort(t, s, n.UUID, "52:54:00:aa:00:01", func(p *metal.Port) { p.Name = ptr("eth0") })
		other := addPort(t, s, n.UUID, "52:54:00:aa:00:02", nil)
		for what, change := range map[string]func(*metal.Port){
			"A port with MAC address 52:54:00:aa:00:01 already exists.": func(d *metal.Port) { d.Address = p.Address },
			"A port with name eth0 already exists.":                     func(d *metal.Port) { d.Name = p.Name },
			"A port with UUID " + p.UUID + " already exists.":           func(d *metal.Port) { d.UUID = p.UUID },
		} {
			d := metal.Port{UUID: storetest.UUID(), NodeUUID: n.UUID, Address: "52:54:00:aa:00:03"}
			change(&d)
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertPort(ctx, &d) })
			wantRefusal(t, err, metal.Conflict, what)
			if d.UUID == p.UUID {
				continue
			}
			changed := other
			change(&changed)
			err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.UpdatePort(ctx, &changed) })
			wantRefusal(t, err, metal.Conflict, what)
		}
	})
}

func TestPortsAreFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, func(n *metal.Node) { n.Shard, n.ConductorGroup, n.Owner = ptr("s1"), "g", ptr("p") })
		m := storetest.Node(t, s, nil)
		a := addPort(t, s, n.UUID, "52:54:00:bb:00:01", func(p *metal.Port) { p.Name, p.PortgroupUUID = ptr("a"), ptr("pg") })
		b := addPort(t, s, n.UUID, "52:54:00:bb:00:02", func(p *metal.Port) { p.Name, p.Description = ptr("b"), ptr("Left NIC") })
		c := addPort(t, s, m.UUID, "52:54:00:bb:00:03", func(p *metal.Port) { p.Name = ptr("c") })
		for i, k := range []struct {
			q    store.PortQuery
			want []string
		}{
			{store.PortQuery{}, []string{"a", "b", "c"}},
			{store.PortQuery{Page: store.Page{SortKey: "address", Desc: true, Limit: 2}}, []string{"c", "b"}},
			{store.PortQuery{Page: store.Page{Marker: a.UUID}}, []string{"b", "c"}},
			{store.PortQuery{NodeUUID: &n.UUID}, []string{"a", "b"}},
			{store.PortQuery{PortgroupUUID: ptr("pg")}, []string{"a"}},
			{store.PortQuery{Addresses: []string{"52:54:00:BB:00:02"}}, []string{"b"}},
			{store.PortQuery{Shards: []string{"s1"}}, []string{"a", "b"}},
			{store.PortQuery{ConductorGroups: []string{"g"}}, []string{"a", "b"}},
			{store.PortQuery{ConductorGroups: []string{""}}, []string{"c"}},
			{store.PortQuery{Project: ptr("p")}, []string{"a", "b"}},
			{store.PortQuery{DescriptionContains: new("left")}, []string{"b"}},
		} {
			got, err := s.Ports(t.Context(), k.q)
			var names []string
			for _, p := range got {
				names = append(names, *p.Name)
			}
			if diff := cmp.Diff(k.want, names); err != nil || diff != "" {
				t.Errorf("case %d: %v, -want +got:\n%s", i, err, diff)
			}
		}
		if got, err := s.PortByAddress(t.Context(), "52:54:00:BB:00:03"); err != nil || got.UUID != c.UUID {
			t.Errorf("by address: %v, %v", got.UUID, err)
		}
		if got, err := s.Port(t.Context(), "b"); err != nil || got.UUID != b.UUID {
			t.Errorf("by name: %v, %v", got.UUID, err)
		}
		_, err := s.Ports(t.Context(), store.PortQuery{Page: store.Page{Marker: n.UUID}})
		wantRefusal(t, err, metal.NotFound, n.UUID)
		if got, err := s.NodeByMACs(t.Context(), []string{"00:00:00:00:00:00", "52:54:00:BB:00:01", b.Address}); err != nil || got.UUID != n.UUID {
			t.Errorf("node by addresses: %v, %v", got.UUID, err)
		}
		for _, macs := range [][]string{nil, {"00:00:00:00:00:00"}, {a.Address, c.Address}} {
			_, err := s.NodeByMACs(t.Context(), macs)
			wantRefusal(t, err, metal.NotFound, "port addresses")
		}
	})
}
