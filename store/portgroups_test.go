package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// life is what a kind of record is held to: it comes back as it was written,
// no update is lost, a deleted one is gone.
type life[T any] struct {
	noun   string
	insert func(ctx context.Context, tx *store.Tx, v *T) error
	update func(ctx context.Context, tx *store.Tx, v *T) error
	remove func(ctx context.Context, tx *store.Tx, uuid string) error
	read   func(ctx context.Context, uuid string) (T, error)
	uuid   func(v *T) string
	change func(v *T)
}

func (l life[T]) run(t *testing.T, s *store.Store, want T) {
	t.Helper()
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return l.insert(ctx, tx, &want) })
	check := func() {
		t.Helper()
		got, err := l.read(t.Context(), l.uuid(&want))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
	}
	check()
	stale := want
	l.change(&want)
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return l.update(ctx, tx, &want) })
	check()
	err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return l.update(ctx, tx, &stale) })
	wantRefusal(t, err, metal.Conflict, l.uuid(&want))
	storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return l.remove(ctx, tx, l.uuid(&want)) })
	_, err = l.read(t.Context(), l.uuid(&want))
	wantRefusal(t, err, metal.NotFound, l.noun+" "+l.uuid(&want)+" could not be found.")
	err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return l.remove(ctx, tx, l.uuid(&want)) })
	wantRefusal(t, err, metal.NotFound, l.uuid(&want))
}

// onTx turns a method of a transaction into what a life calls.
func onTx[V any](f func(tx *store.Tx, ctx context.Context, v V) error) func(context.Context, *store.Tx, V) error {
	return func(ctx context.Context, tx *store.Tx, v V) error { return f(tx, ctx, v) }
}

// wantNames checks the names of what a list gave.
func wantNames[T any](t *testing.T, list []T, err error, name func(v *T) string, want ...string) {
	t.Helper()
	var names []string
	for i := range list {
		names = append(names, name(&list[i]))
	}
	if diff := cmp.Diff(want, names); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

func TestAPortgroupComesBackAsItWasWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n, m := storetest.Node(t, s, nil), storetest.Node(t, s, nil)
		var want metal.Portgroup
		fill(t, &want)
		want.UUID, want.NodeUUID = storetest.UUID(), n.UUID
		life[metal.Portgroup]{
			noun: "Portgroup", insert: onTx((*store.Tx).InsertPortgroup), update: onTx((*store.Tx).UpdatePortgroup),
			remove: onTx((*store.Tx).DeletePortgroup), read: s.PortgroupByUUID,
			uuid:   func(p *metal.Portgroup) string { return p.UUID },
			change: func(p *metal.Portgroup) { p.NodeUUID, p.Name, p.StandalonePortsSupported = m.UUID, nil, false },
		}.run(t, s, want)
	})
}

func TestPortgroupsAreFoundAndGoWithTheirNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, func(n *metal.Node) { n.Shard, n.ConductorGroup, n.Owner = ptr("s1"), "g", ptr("p") })
		m := storetest.Node(t, s, nil)
		add := func(node, name string, mac *string) (metal.Portgroup, error) {
			p := metal.Portgroup{UUID: storetest.UUID(), NodeUUID: node, Name: &name, Address: mac}
			return p, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertPortgroup(ctx, &p) })
		}
		a, err := add(n.UUID, "a", ptr("52:54:00:aa:00:01"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = add(n.UUID, "a", nil)
		wantRefusal(t, err, metal.Conflict, "A portgroup with name a already exists.")
		_, err = add(n.UUID, "x", a.Address)
		wantRefusal(t, err, metal.Conflict, "A portgroup with MAC address 52:54:00:aa:00:01 already exists.")
		for _, name := range []string{"b", "c"} {
			if _, err := add(m.UUID, name, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, k := range []struct {
			q    store.PortgroupQuery
			want []string
		}{
			{store.PortgroupQuery{}, []string{"a", "b", "c"}},
			{store.PortgroupQuery{Page: store.Page{SortKey: "name", Desc: true, Limit: 2}}, []string{"c", "b"}},
			{store.PortgroupQuery{Page: store.Page{Marker: a.UUID}}, []string{"b", "c"}},
			{store.PortgroupQuery{NodeUUID: &m.UUID}, []string{"b", "c"}},
			{store.PortgroupQuery{Address: ptr("52:54:00:AA:00:01")}, []string{"a"}},
			{store.PortgroupQuery{Shards: []string{"s1"}}, []string{"a"}},
			{store.PortgroupQuery{ConductorGroups: []string{""}}, []string{"b", "c"}},
			{store.PortgroupQuery{Project: ptr("p")}, []string{"a"}},
		} {
			got, err := s.Portgroups(t.Context(), k.q)
			wantNames(t, got, err, func(p *metal.Portgroup) string { return *p.Name }, k.want...)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		_, err = s.Portgroup(t.Context(), "a")
		wantRefusal(t, err, metal.NotFound, "Portgroup a could not be found.")
	})
}
