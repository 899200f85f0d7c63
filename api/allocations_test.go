package api

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"ferrule/metal"
)

// free makes a node that an allocation can have.
func (s *served) free(class string) string {
	uuid := s.node(fmt.Sprintf(`{"driver": "fake-hardware", "resource_class": %q}`, class))
	off := string(metal.PowerOff)
	s.put(uuid, func(n *metal.Node) { n.ProvisionState, n.PowerState = metal.Available, &off })
	return uuid
}

func (s *served) allocate(body string) string {
	s.t.Helper()
	made := s.ask("1.115", http.MethodPost, "/v1/allocations", body).want(http.StatusCreated).object()
	if made["state"] != "allocating" || made["node_uuid"] != nil {
		s.t.Errorf("the answer shows %v of %v", made["state"], made["node_uuid"])
	}
	return made["uuid"].(string)
}

func (s *served) allocation(uuid string) map[string]any {
	s.t.Helper()
	return s.ask("1.115", http.MethodGet, "/v1/allocations/"+uuid, "").want(http.StatusOK).object()
}

// Many at a time get a node each, and who comes too late gets an error.
func TestNoNodeIsGivenToTwoAllocations(t *testing.T) {
	s := serve(t)
	const nodes, wishes = 5, 8
	for range nodes {
		s.free("baremetal")
	}
	var all sync.WaitGroup
	made := make([]string, wishes)
	for i := range made {
		all.Go(func() { made[i] = s.allocate(`{"resource_class": "baremetal"}`) })
	}
	all.Wait()
	given := map[any]bool{}
	failed := 0
	for _, uuid := range made {
		switch a := s.allocation(uuid); a["state"] {
		case "active":
			node := a["node_uuid"].(string)
			if given[node] {
				t.Errorf("node %s is given twice", node)
			}
			given[node] = true
			if n := s.row(node); n.InstanceUUID == nil || *n.InstanceUUID != uuid || n.AllocationUUID == nil || *n.AllocationUUID != uuid {
				t.Errorf("node %s does not know its allocation", node)
			}
		case "error":
			failed++
			if a["last_error"] == nil {
				t.Error("no word on what went wrong")
			}
		default:
			t.Errorf("state %v", a["state"])
		}
	}
	if len(given) != nodes || failed != wishes-nodes {
		t.Errorf("%d given, %d failed", len(given), failed)
	}
}

// What somebody works on is waited for.
func TestALockedNodeIsWaitedFor(t *testing.T) {
	s := serve(t)
	node, holder := s.free("baremetal"), "somebody"
	s.put(node, func(n *metal.Node) { n.Reservation = &holder })
	stuck := s.allocation(s.allocate(`{"resource_class": "baremetal"}`))
	if stuck["state"] != "error" {
		t.Errorf("an allocation of a locked node is %v", stuck["state"])
	}
	done := make(chan string)
	go func() { done <- s.allocate(`{"resource_class": "baremetal"}`) }()
	s.put(node, func(n *metal.Node) { n.Reservation = nil })
	if a := s.allocation(<-done); a["node_uuid"] != node {
		t.Errorf("after the lock: %v", a)
	}
}

func TestAFailedBackfillLeavesNothing(t *testing.T) {
	s := serve(t)
	node := s.free("baremetal")
	s.ask("1.115", http.MethodPost, "/v1/allocations", fmt.Sprintf(`{"node": %q}`, node)).want(http.StatusBadRequest)
	s.ask("1.115", http.MethodPost, "/v1/allocations", `{"resource_class": "baremetal", "uuid": "none"}`).want(http.StatusBadRequest)
	list := s.ask("1.115", http.MethodGet, "/v1/allocations", "").want(http.StatusOK).object()
	if all := list["allocations"].([]any); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
	if n := s.row(node); n.InstanceUUID != nil {
		t.Error("the node has an instance")
	}
}
