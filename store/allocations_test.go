package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestAnAllocationComesBackAsItWasWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		var want metal.Allocation
		fill(t, &want)
		want.UUID, want.NodeUUID, want.State = storetest.UUID(), &n.UUID, metal.AllocationActive
		life[metal.Allocation]{
			noun: "Allocation", insert: onTx((*store.Tx).InsertAllocation), update: onTx((*store.Tx).UpdateAllocation),
			remove: onTx((*store.Tx).DeleteAllocation), read: s.Allocation,
			uuid:   func(a *metal.Allocation) string { return a.UUID },
			change: func(a *metal.Allocation) { a.NodeUUID, a.CandidateNodes, a.State = nil, nil, metal.AllocationError },
		}.run(t, s, want)
	})
}

func TestAllocationsAreFoundAndGoWithTheirNode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := storetest.Node(t, s, nil)
		add := func(name, class string, change func(*metal.Allocation)) error {
			a := metal.Allocation{UUID: storetest.UUID(), Name: &name, ResourceClass: &class, State: metal.AllocationActive}
			change(&a)
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertAllocation(ctx, &a) })
		}
		for _, err := range []error{
			add("a", "x", func(a *metal.Allocation) { a.NodeUUID = &n.UUID }),
			add("b", "x", func(a *metal.Allocation) { a.State, a.Owner = metal.AllocationError, ptr("p") }),
			add("c", "y", func(a *metal.Allocation) {}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		wantRefusal(t, add("a", "x", func(*metal.Allocation) {}), metal.Conflict, "An allocation with name a already exists.")
		for _, k := range []struct {
			q    store.AllocationQuery
			want []string
		}{
			{store.AllocationQuery{}, []string{"a", "b", "c"}},
			{store.AllocationQuery{ResourceClass: ptr("x"), Page: store.Page{Desc: true}}, []string{"b", "a"}},
			{store.AllocationQuery{State: ptr("error")}, []string{"b"}},
			{store.AllocationQuery{NodeUUID: &n.UUID}, []string{"a"}},
			{store.AllocationQuery{Owner: ptr("p")}, []string{"b"}},
		} {
			list, err := s.Allocations(t.Context(), k.q)
			wantNames(t, list, err, func(a *metal.Allocation) string { return *a.Name }, k.want...)
		}
		if a, err := s.AllocationOf(t.Context(), n.UUID); err != nil || *a.Name != "a" {
			t.Errorf("of the node: %v, %v", a, err)
		}
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteNode(ctx, n.UUID) })
		_, err := s.AllocationOf(t.Context(), n.UUID)
		wantRefusal(t, err, metal.NotFound, n.UUID)
		_, err = s.Allocation(t.Context(), "a")
		wantRefusal(t, err, metal.NotFound, "Allocation a could not be found.")
	})
}

// freeNode adds a node that an allocation can have.
func freeNode(t *testing.T, s *store.Store, change func(*metal.Node)) metal.Node {
	t.Helper()
	return storetest.Node(t, s, func(n *metal.Node) {
		n.ProvisionState, n.PowerState, n.ResourceClass = metal.Available, ptr("power off"), ptr("x")
		if change != nil {
			change(n)
		}
	})
}

func TestOnlyFreeNodesThatFitAreFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		for what, spoil := range map[string]func(*metal.Node){
			"another class":      func(n *metal.Node) { n.ResourceClass = ptr("y") },
			"no class":           func(n *metal.Node) { n.ResourceClass = nil },
			"another state":      func(n *metal.Node) { n.ProvisionState = metal.Manageable },
			"an instance":        func(n *metal.Node) { n.InstanceUUID = ptr(storetest.UUID()) },
			"maintenance":        func(n *metal.Node) { n.Maintenance = true },
			"unknown power":      func(n *metal.Node) { n.PowerState = nil },
			"a reservation":      func(n *metal.Node) { n.Reservation = ptr("somebody") },
			"another owner":      func(n *metal.Node) { n.Owner = ptr("q") },
			"a trait too few":    func(n *metal.Node) { n.Traits = []string{"CUSTOM_A", "CUSTOM_BB"} },
			"a trait like those": func(n *metal.Node) { n.Traits = []string{"CUSTOM_A", "CUSTOMXB"} },
			"no traits":          func(n *metal.Node) { n.Traits = nil },
		} {
			n := freeNode(t, s, func(n *metal.Node) {
				n.Lessee, n.Traits = ptr("p"), []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C"}
				if strings.Contains(what, "owner") {
					n.Lessee = nil
				}
				spoil(n)
			})
			fit := store.Fit{ResourceClass: ptr("x"), Owner: ptr("p"), Traits: []string{"CUSTOM_A", "CUSTOM_B"}, Reserved: ptr(false)}
			if got, err := s.FreeNode(t.Context(), fit, n.UUID); err != nil || got != "" {
				t.Errorf("%s: %q, %v", what, got, err)
			}
		}
		n := freeNode(t, s, func(n *metal.Node) { n.Owner, n.Traits, n.Name = ptr("p"), []string{"CUSTOM_A", "CUSTOM_B"}, ptr("it") })
		fit := store.Fit{ResourceClass: ptr("x"), Owner: ptr("p"), Traits: []string{"CUSTOM_A", "CUSTOM_B"}, Reserved: ptr(false)}
		for _, start := range []string{"0", n.UUID, "g"} {
			if got, err := s.FreeNode(t.Context(), fit, start); err != nil || got != n.UUID {
				t.Errorf("from %s: %q, %v", start, got, err)
			}
		}
		for want, narrow := range map[string]store.Fit{
			n.UUID: {Name: ptr("it"), Candidates: []string{storetest.UUID(), n.UUID}}, "": {ResourceClass: ptr("x"), Candidates: []string{storetest.UUID()}},
		} {
			if got, err := s.FreeNode(t.Context(), narrow, "5"); err != nil || got != want {
				t.Errorf("%+v: %q, %v", narrow, got, err)
			}
		}
		if count, err := s.FreeNodes(t.Context(), store.Fit{ResourceClass: ptr("x"), Owner: ptr("p"), Reserved: ptr(true)}); err != nil || count != 1 {
			t.Errorf("reserved ones: %d, %v", count, err)
		}
		got, err := s.NodeUUIDs(t.Context(), []string{"it", n.UUID, "nobody"}, nil)
		if diff := cmp.Diff(map[string]string{"it": n.UUID, n.UUID: n.UUID}, got); err != nil || diff != "" {
			t.Errorf("%v, %s", err, diff)
		}
		if got, err = s.NodeUUIDs(t.Context(), []string{"it"}, ptr("q")); err != nil || len(got) > 0 {
			t.Errorf("of another project: %v, %v", got, err)
		}
	})
}
