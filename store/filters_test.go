package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
	"ferrule/store/storetest"
)

// condition is one condition that a list can have.
type condition struct {
	param string // of the API
	text  func(ctx context.Context, s *store.Store) (string, error)
	// looks says why the list looks at rows that it does not return; "": it
	// looks at none, however many there are.
	looks string
}

func onNodes(param string, q store.NodeQuery) condition {
	q.Limit = 1000
	return condition{param: param, text: func(ctx context.Context, s *store.Store) (string, error) { return s.NodesText(ctx, q) }}
}

func onPorts(param string, q store.PortQuery) condition {
	q.Limit = 1000
	return condition{param: param, text: func(ctx context.Context, s *store.Store) (string, error) { return s.PortsText(ctx, q) }}
}

func onAllocations(param string, q store.AllocationQuery) condition {
	q.Limit = 1000
	return condition{param: param, text: func(ctx context.Context, s *store.Store) (string, error) { return s.AllocationsText(ctx, q) }}
}

func (c condition) because(looks string) condition {
	c.looks = looks
	return c
}

const (
	nearlyAll = "it is true of nearly all, so a page is soon full"
	words     = "a word can be anywhere in a text; measured: BenchmarkFilters"
)

// nodeConditions has every filter of GET /v1/nodes; n is one of the rare nodes
// of a fleet.
func nodeConditions(n metal.Node) []condition {
	return []condition{
		onNodes("marker", store.NodeQuery{Page: store.Page{Marker: n.UUID}}).because("what comes after the marker is returned"),
		onNodes("chassis_uuid", store.NodeQuery{ChassisUUID: n.ChassisUUID}),
		onNodes("instance_uuid", store.NodeQuery{InstanceUUID: n.InstanceUUID}),
		onNodes("instance_name", store.NodeQuery{InstanceName: n.InstanceName}),
		onNodes("associated", store.NodeQuery{Associated: ptr(true)}),
		onNodes("associated", store.NodeQuery{Associated: ptr(false)}).because(nearlyAll),
		onNodes("maintenance", store.NodeQuery{Maintenance: ptr(true)}),
		onNodes("maintenance", store.NodeQuery{Maintenance: ptr(false)}).because(nearlyAll),
		onNodes("provision_state", store.NodeQuery{States: []metal.State{n.ProvisionState}}),
		onNodes("driver", store.NodeQuery{Driver: &n.Driver}),
		onNodes("resource_class", store.NodeQuery{ResourceClass: n.ResourceClass}),
		onNodes("fault", store.NodeQuery{Fault: n.Fault}),
		onNodes("conductor_group", store.NodeQuery{ConductorGroups: []string{n.ConductorGroup}}),
		onNodes("owner", store.NodeQuery{Owner: n.Owner}),
		onNodes("lessee", store.NodeQuery{Lessee: n.Lessee}),
		onNodes("project", store.NodeQuery{Project: n.Owner}),
		onNodes("shard", store.NodeQuery{Shards: []string{*n.Shard, "no such shard"}}),
		onNodes("sharded", store.NodeQuery{Sharded: ptr(true)}),
		onNodes("sharded", store.NodeQuery{Sharded: ptr(false)}).because(nearlyAll),
		onNodes("parent_node", store.NodeQuery{ParentNode: n.ParentNode}),
		onNodes("include_children", store.NodeQuery{IncludeChildren: true}).because("it returns all"),
		onNodes("retired", store.NodeQuery{Retired: ptr(true)}),
		onNodes("retired", store.NodeQuery{Retired: ptr(false)}).because(nearlyAll),
		onNodes("description_contains", store.NodeQuery{DescriptionContains: ptr("no such words")}).because(words),
		onNodes("", store.NodeQuery{UUIDs: []string{n.UUID}}),
		onNodes("", store.NodeQuery{Reserved: ptr(true)}),
		onNodes("", store.NodeQuery{Reservation: n.Reservation}),
	}
}

func portConditions(n metal.Node) []condition {
	return []condition{
		onPorts("node", store.PortQuery{NodeUUID: &n.UUID}),
		onPorts("node_uuid", store.PortQuery{NodeUUID: &n.UUID}),
		onPorts("address", store.PortQuery{Addresses: []string{address(0), "52:54:00:ff:ff:ff"}}),
		onPorts("portgroup", store.PortQuery{PortgroupUUID: ptr("group")}),
		onPorts("shard", store.PortQuery{Shards: []string{*n.Shard}}),
		onPorts("conductor_groups", store.PortQuery{ConductorGroups: []string{n.ConductorGroup}}),
		onPorts("description_contains", store.PortQuery{DescriptionContains: ptr("no such words")}).because(words),
	}
}

func allocationConditions(n metal.Node) []condition {
	return []condition{
		onAllocations("node", store.AllocationQuery{NodeUUID: &n.UUID}),
		onAllocations("resource_class", store.AllocationQuery{ResourceClass: n.ResourceClass}),
		onAllocations("state", store.AllocationQuery{State: ptr("error")}),
		onAllocations("owner", store.AllocationQuery{Owner: n.Owner}),
	}
}

// Every filter that the API has is among the conditions, but for those that are
// no column.
func TestEveryFilterIsLookedInto(t *testing.T) {
	elsewhere := []string{
		"limit", "sort_key", "sort_dir", "fields", "detail",
		"conductor", // of which the API makes its group
	}
	rare := metal.Node{ChassisUUID: ptr(""), Shard: ptr(""), Owner: ptr("")}
	for id, conditions := range map[string][]condition{
		"listNodes": nodeConditions(rare), "listPorts": portConditions(rare), "listAllocations": allocationConditions(rare),
	} {
		op := openapi.Operations[slices.IndexFunc(openapi.Operations, func(o openapi.Operation) bool { return o.ID == id })]
		for _, p := range op.Params {
			known := slices.Contains(elsewhere, p.Name) || p.Name == "marker"
			if !known && !slices.ContainsFunc(conditions, func(c condition) bool { return c.param == p.Name }) {
				t.Errorf("%s has a filter %s, of which nobody knows how much it looks at", id, p.Name)
			}
		}
	}
}

// A list takes no longer for the rows that it does not return.
func TestListsLookAtNothingElse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rare := fleet(t, s, 3000)
		conditions := slices.Concat(nodeConditions(rare), portConditions(rare), allocationConditions(rare), []condition{
			{param: "allocate", text: func(context.Context, *store.Store) (string, error) {
				return s.FreeNodeText(store.Fit{ResourceClass: ptr("common")}, rare.UUID), nil
			}},
		})
		look := visitsSQLite
		if strings.HasSuffix(t.Name(), "postgres") {
			look = visitsPostgres
			if err := s.Analyze(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range conditions {
			text, err := c.text(t.Context(), s)
			if err != nil {
				t.Fatalf("%s: %v", c.param, err)
			}
			if plan, others := look(t, s, text); others != (c.looks != "") && others {
				t.Errorf("%s looks at rows that it does not return:\n%s\n%s", c.param, text, plan)
			}
		}
	})
}

// visitsSQLite tells whether the plan reads a table from end to end, be it by an
// index that holds all of it.
func visitsSQLite(t *testing.T, s *store.Store, text string) (plan string, others bool) {
	t.Helper()
	rows, err := s.Raw(t.Context(), "EXPLAIN QUERY PLAN "+text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int64
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
		_, index, _ := strings.Cut(detail, "USING INDEX ")
		if strings.HasPrefix(detail, "SCAN ") && !slices.Contains(partial, index) {
			others = true
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan, others
}

// partial are the indexes that hold nothing but what a list returns.
var partial = []string{"nodes_associated", "nodes_maintenance", "nodes_retired", "nodes_reserved", "nodes_sharded"}

// visitsPostgres runs the query and counts the rows that it read in vain.
func visitsPostgres(t *testing.T, s *store.Store, text string) (plan string, others bool) {
	t.Helper()
	rows, err := s.Raw(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+text)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&plan); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var read []struct{ Plan step }
	if err := json.Unmarshal([]byte(plan), &read); err != nil {
		t.Fatal(err)
	}
	return plan, read[0].Plan.inVain() > 0
}

// step is one step of PostgreSQL's plan.
type step struct {
	Removed float64 `json:"Rows Removed by Filter"`
	Loops   float64 `json:"Actual Loops"`
	Plans   []step
}

func (s step) inVain() float64 {
	sum := s.Removed * s.Loops
	for _, below := range s.Plans {
		sum += below.inVain()
	}
	return sum
}

// BenchmarkFilters lists the first thousand of what each filter finds among a
// hundred thousand nodes.
func BenchmarkFilters(b *testing.B) {
	engines(b, func(b *testing.B, s *store.Store) {
		rare := fleet(b, s, 100_000)
		if err := s.Analyze(b.Context()); err != nil {
			b.Fatal(err)
		}
		for _, c := range slices.Concat(nodeConditions(rare), portConditions(rare)) {
			text, err := c.text(b.Context(), s)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(c.param, func(b *testing.B) {
				found := 0
				for b.Loop() {
					rows, err := s.Raw(b.Context(), text)
					if err != nil {
						b.Fatal(err)
					}
					for found = 0; rows.Next(); found++ {
					}
					if err := rows.Err(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(found), "rows")
			})
		}
	})
}

func address(i int) string {
	hex := strconv.FormatInt(int64(0x525400000000+i), 16)
	return strings.Join([]string{hex[0:2], hex[2:4], hex[4:6], hex[6:8], hex[8:10], hex[10:12]}, ":")
}

// fleet adds nodes with ports and allocations, of which each filter finds some
// few, and gives one of these.
func fleet(t testing.TB, s *store.Store, count int) (rare metal.Node) {
	t.Helper()
	parent := ""
	for first := 0; first < count; first += 1000 {
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for i := first; i < first+1000; i++ {
				n := metal.Node{
					UUID: storetest.UUID(), Name: ptr("node-" + strconv.Itoa(i)), Driver: "redfish", DriverInfo: driverInfo,
					ProvisionState: metal.Available, PowerState: ptr("power off"), ResourceClass: ptr("common"),
					Description: ptr("a server like the others"), ConductorGroup: "site-" + strconv.Itoa(i%300), Owner: ptr("owner-" + strconv.Itoa(i%300)),
				}
				if i%300 == 0 {
					n.Driver, n.ProvisionState, n.ResourceClass = "ipmi", metal.CleanWait, ptr("rare")
					n.InstanceUUID, n.InstanceName, n.Maintenance, n.Fault = ptr(storetest.UUID()), ptr("web-"+strconv.Itoa(i)), true, ptr(metal.FaultPower)
					n.Reservation, n.Retired, n.Shard, n.Lessee = ptr("host-1"), true, ptr("shard-7"), ptr("owner-0")
					n.ChassisUUID = ptr("chassis")
					rare = n
				}
				if i == 1 {
					parent = n.UUID
				} else if i > 1 && i%299 == 0 {
					n.ParentNode = &parent
				}
				if err := addWithParts(ctx, tx, &n, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	rare.ParentNode = &parent
	return rare
}

func addWithParts(ctx context.Context, tx *store.Tx, n *metal.Node, i int) error {
	if err := tx.InsertNode(ctx, n); err != nil {
		return err
	}
	p := metal.Port{UUID: storetest.UUID(), NodeUUID: n.UUID, Address: address(i), Description: ptr("a port")}
	a := metal.Allocation{UUID: storetest.UUID(), ResourceClass: n.ResourceClass, State: "active", Owner: n.Owner}
	if n.InstanceUUID != nil {
		p.PortgroupUUID, a.NodeUUID, a.State = ptr("group"), &n.UUID, "error"
	}
	if err := tx.InsertPort(ctx, &p); err != nil {
		return err
	}
	return tx.InsertAllocation(ctx, &a)
}
