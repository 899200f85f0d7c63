package store_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func names(list []metal.Node) []string {
	var all []string
	for _, n := range list {
		all = append(all, n.Label())
	}
	return all
}

// rack adds the nodes that the tests of filters look for.
func rack(t *testing.T, s *store.Store) map[string]metal.Node {
	t.Helper()
	made := map[string]metal.Node{}
	add := func(name string, change func(*metal.Node)) {
		made[name] = storetest.Node(t, s, func(n *metal.Node) {
			n.Name = &name
			change(n)
		})
	}
	add("a", func(n *metal.Node) {
		n.ProvisionState, n.Driver, n.ResourceClass = metal.Active, "redfish", ptr("big")
		n.InstanceUUID, n.InstanceName = ptr(storetest.UUID()), ptr("web-1")
	})
	add("b", func(n *metal.Node) {
		n.ProvisionState, n.Maintenance, n.Fault = metal.CleanFailed, true, ptr(metal.FaultClean)
		n.Owner, n.Lessee = ptr("p1"), ptr("p2")
	})
	add("c", func(n *metal.Node) {
		n.ConductorGroup, n.Shard, n.Description = "site-1", ptr("s1"), ptr("The 50% LARGE_one")
		n.Lessee = ptr("p1")
	})
	add("d", func(n *metal.Node) {
		n.ConductorGroup, n.Shard, n.Retired = "site-2", ptr("s2"), true
		n.Reservation, n.ChassisUUID = ptr("host-1"), ptr("chassis")
	})
	add("child", func(n *metal.Node) { n.ParentNode = ptr(made["a"].UUID) })
	return made
}

func TestEachFilterFindsItsNodes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		made := rack(t, s)
		parent := made["a"].UUID
		for i, c := range []struct {
			q    store.NodeQuery
			want []string
		}{
			{store.NodeQuery{}, []string{"a", "b", "c", "d"}},
			{store.NodeQuery{IncludeChildren: true}, []string{"a", "b", "c", "d", "child"}},
			{store.NodeQuery{ParentNode: &parent}, []string{"child"}},
			{store.NodeQuery{ParentNode: ptr("a")}, nil},
			{store.NodeQuery{UUIDs: []string{made["c"].UUID, made["a"].UUID}}, []string{"a", "c"}},
			{store.NodeQuery{UUIDs: []string{}}, nil},
			{store.NodeQuery{InstanceUUID: made["a"].InstanceUUID}, []string{"a"}},
			{store.NodeQuery{InstanceName: ptr("web-1")}, []string{"a"}},
			{store.NodeQuery{Associated: ptr(true)}, []string{"a"}},
			{store.NodeQuery{Associated: ptr(false)}, []string{"b", "c", "d"}},
			{store.NodeQuery{Maintenance: ptr(true)}, []string{"b"}},
			{store.NodeQuery{Maintenance: ptr(false)}, []string{"a", "c", "d"}},
			{store.NodeQuery{States: []metal.State{metal.Active}}, []string{"a"}},
			{store.NodeQuery{States: []metal.State{metal.Active, metal.CleanFailed}}, []string{"a", "b"}},
			{store.NodeQuery{Driver: ptr("redfish")}, []string{"a"}},
			{store.NodeQuery{Driver: ptr("Redfish")}, nil},
			{store.NodeQuery{ResourceClass: ptr("big")}, []string{"a"}},
			{store.NodeQuery{Fault: ptr(metal.FaultClean)}, []string{"b"}},
			{store.NodeQuery{ConductorGroups: []string{""}}, []string{"a", "b"}},
			{store.NodeQuery{ConductorGroups: []string{"site-1", "site-2"}}, []string{"c", "d"}},
			{store.NodeQuery{Owner: ptr("p1")}, []string{"b"}},
			{store.NodeQuery{Lessee: ptr("p1")}, []string{"c"}},
			{store.NodeQuery{Project: ptr("p1")}, []string{"b", "c"}},
			{store.NodeQuery{Shards: []string{"s1", "s2", "s3"}}, []string{"c", "d"}},
			{store.NodeQuery{Sharded: ptr(true)}, []string{"c", "d"}},
			{store.NodeQuery{Sharded: ptr(false)}, []string{"a", "b"}},
			{store.NodeQuery{Retired: ptr(true)}, []string{"d"}},
			{store.NodeQuery{Reserved: ptr(true)}, []string{"d"}},
			{store.NodeQuery{Reservation: ptr("host-1")}, []string{"d"}},
			{store.NodeQuery{ChassisUUID: ptr("chassis")}, []string{"d"}},
			{store.NodeQuery{DescriptionContains: new("large_")}, []string{"c"}},
			{store.NodeQuery{DescriptionContains: new("50%")}, []string{"c"}},
			{store.NodeQuery{DescriptionContains: new("5_%")}, nil},
			{store.NodeQuery{Maintenance: ptr(true), Driver: ptr("redfish")}, nil},
		} {
			got, err := s.Nodes(t.Context(), c.q)
			if diff := cmp.Diff(c.want, names(got)); err != nil || diff != "" {
				t.Errorf("case %d: %v, -want +got:\n%s", i, err, diff)
			}
		}
		if in, err := s.NodeCountsIn(t.Context(), "nowhere"); err != nil || len(in) != 0 {
			t.Errorf("an unknown group has %v, %v", in, err)
		}
		counts, err := s.NodeCounts(t.Context())
		want := map[metal.State]int64{metal.Active: 1, metal.CleanFailed: 1, metal.Enroll: 3}
		if diff := cmp.Diff(want, counts); err != nil || diff != "" {
			t.Errorf("counts: %v, -want +got:\n%s", err, diff)
		}
	})
}

func TestAListReadsTheColumnsThatItIsAskedFor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, func(n *metal.Node) { n.Name, n.Extra = ptr("n"), `{"a":1}` })
		got, err := s.Nodes(t.Context(), store.NodeQuery{Columns: []string{"name", "links", "provision_state", "maintenance"}})
		if err != nil || len(got) != 1 {
			t.Fatalf("got %d nodes, %v", len(got), err)
		}
		want := metal.Node{Name: n.Name, UUID: n.UUID, ProvisionState: metal.Enroll}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// mixed are names in the order of their bytes, which is no language's.
var mixed = []string{"A", "B", "Z", "_", "a", "a-b", "aB", "ab", "b", "z", "\u00c4", "\u00e9"}

func TestTextSortsByItsBytes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for _, i := range []int{7, 2, 11, 0, 5, 3, 9, 1, 10, 4, 8, 6} {
			storetest.Node(t, s, func(n *metal.Node) { n.Name = ptr(mixed[i]) })
		}
		got, err := s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{SortKey: "name"}})
		if diff := cmp.Diff(mixed, names(got)); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
}

// pages reads a list page by page; between two pages disturb may change it.
func pages(t *testing.T, s *store.Store, p store.Page, disturb func()) []string {
	t.Helper()
	var all []string
	for {
		got, err := s.Nodes(t.Context(), store.NodeQuery{Page: p})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names(got)...)
		if int64(len(got)) < p.Limit {
			return all
		}
		p.Marker = got[len(got)-1].UUID
		disturb()
	}
}

func TestPagesHaveEachNodeOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var inOrder []string
		for i := range 17 {
			n := storetest.Node(t, s, func(n *metal.Node) {
				n.Name = ptr("n" + strconv.Itoa(10+i))
				if i%3 != 0 {
					n.ResourceClass = ptr([]string{"", "Z", "a"}[i%3])
				}
				n.Maintenance = i%2 == 0
			})
			inOrder = append(inOrder, *n.Name)
		}
		for _, key := range []string{"", "id", "name", "resource_class", "maintenance", "created_at", "provision_state", "updated_at"} {
			for _, desc := range []bool{false, true} {
				p := store.Page{SortKey: key, Desc: desc}
				whole, err := s.Nodes(t.Context(), store.NodeQuery{Page: p})
				if err != nil {
					t.Fatal(err)
				}
				want := names(whole)
				for _, p.Limit = range []int64{1, 2, 5, 17, 100} {
					got := pages(t, s, p, func() {})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("by %q desc %v, %d a page: -want +got:\n%s", key, desc, p.Limit, diff)
					}
				}
				slices.Sort(want)
				if diff := cmp.Diff(inOrder, want); diff != "" {
					t.Errorf("by %q: -want +got:\n%s", key, diff)
				}
			}
		}
	})
}

func TestNullsComeFirstAndTiesInOrderOfCreation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for i, class := range []*string{ptr("x"), nil, ptr("a"), ptr("x"), nil} {
			storetest.Node(t, s, func(n *metal.Node) { n.Name, n.ResourceClass = ptr(fmt.Sprint(i)), class })
		}
		for desc, want := range map[bool][]string{false: {"1", "4", "2", "0", "3"}, true: {"3", "0", "2", "4", "1"}} {
			got, err := s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{SortKey: "resource_class", Desc: desc}})
			if diff := cmp.Diff(want, names(got)); err != nil || diff != "" {
				t.Errorf("desc %v: %v, -want +got:\n%s", desc, err, diff)
			}
		}
	})
}

func TestPagesDoNotSlipWhenNodesComeAndGo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var doomed []string
		for i := range 12 {
			n := storetest.Node(t, s, func(n *metal.Node) { n.Name = ptr(fmt.Sprintf("m%02d", i)) })
			if i%4 == 0 && i > 0 {
				doomed = append(doomed, n.UUID)
			}
		}
		got := pages(t, s, store.Page{SortKey: "name", Limit: 3}, func() {
			storetest.Node(t, s, func(n *metal.Node) { n.Name = ptr("a" + n.UUID) })
			if len(doomed) > 0 {
				storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, doomed[0]) })
				doomed = doomed[1:]
			}
		})
		// m04 went before its page was read, m08 likewise; all others were there throughout.
		for _, name := range []string{"m00", "m01", "m02", "m03", "m05", "m06", "m07", "m09", "m10", "m11"} {
			if n := count(got, name); n != 1 {
				t.Errorf("%s came %d times in %v", name, n, got)
			}
		}
	})
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

func TestAPageThatCannotBeIsRefused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, func(n *metal.Node) { n.Name = ptr("name") })
		for _, marker := range []string{storetest.UUID(), "name", "nonsense'"} {
			_, err := s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{Marker: marker}})
			wantRefusal(t, err, metal.NotFound, marker)
		}
		for _, key := range []string{"properties", "driver_info", "traits", "wake", "conductor", "links", "name; DROP TABLE nodes", "chassis_uuid"} {
			_, err := s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{SortKey: key, Marker: n.UUID}})
			wantRefusal(t, err, metal.Invalid, "sort_key")
		}
		if _, err := s.Nodes(t.Context(), store.NodeQuery{Page: store.Page{SortKey: "chassis_id"}}); err != nil {
			t.Error(err)
		}
	})
}
