package store

import (
	"context"
	"strings"

	"ferrule/metal"
)

// NodeQuery filters a list of nodes. Nil and zero are no condition, except that
// children are left out unless they are asked for.
type NodeQuery struct {
	Page
	// Columns are which of Ironic's fields to read, and the UUID; nil is all. A
	// field that is no column, such as links, is let be.
	Columns []string

	UUIDs           []string
	ChassisUUID     *string
	InstanceUUID    *string
	InstanceName    *string
	Associated      *bool
	Maintenance     *bool
	States          []metal.State
	Driver          *string
	ResourceClass   *string
	Fault           *string
	ConductorGroups []string
	Owner           *string
	Lessee          *string
	Project         *string // owner or lessee
	Shards          []string
	Sharded         *bool
	ParentNode      *string
	IncludeChildren bool
	Retired         *bool
	Reserved        *bool
	Reservation     *string
	// DescriptionContains is looked for without regard to case; an empty one is
	// in every description that there is.
	DescriptionContains *string
}

// nodeKeys are what nodes can be sorted by.
var nodeKeys = func() sortable {
	keys := sortable{"chassis_id": "chassis_uuid", "allocation_id": "allocation_uuid"}
	for _, f := range nodes.fields(new(metal.Node)) {
		keys[f.column] = f.column
	}
	for _, json := range []string{
		"driver_info", "driver_internal_info", "properties", "extra", "instance_info", "raid_config",
		"target_raid_config", "clean_step", "deploy_step", "service_step", "network_data", "traits", "wake",
		"chassis_uuid", "allocation_uuid",
	} {
		delete(keys, json)
	}
	return keys
}()

// Nodes lists nodes.
func (r reads) Nodes(ctx context.Context, q NodeQuery) ([]metal.Node, error) {
	columns := nodes.only(q.Columns)
	f, err := r.nodesIn(ctx, q, columns)
	if err != nil {
		return nil, failed(err, "list nodes")
	}
	list, err := nodes.find(ctx, r.c, f, columns)
	return list, failed(err, "list nodes")
}

func (r reads) nodesIn(ctx context.Context, q NodeQuery, columns []string) (*filter, error) {
	f := selectFrom(r, nodes, columns)
	f.among("uuid", q.UUIDs)
	f.equal("chassis_uuid", q.ChassisUUID)
	f.equal("instance_uuid", q.InstanceUUID)
	f.equal("instance_name", q.InstanceName)
	f.set("instance_uuid", q.Associated)
	f.is("maintenance", q.Maintenance)
	f.among("provision_state", stateNames(q.States))
	f.equal("driver", q.Driver)
	f.equal("resource_class", q.ResourceClass)
	f.equal("fault", q.Fault)
	f.among("conductor_group", q.ConductorGroups)
	f.equal("owner", q.Owner)
	f.equal("lessee", q.Lessee)
	if q.Project != nil {
		f.where("(owner = ? OR lessee = ?)", *q.Project, *q.Project)
	}
	f.among("shard", q.Shards)
	f.set("shard", q.Sharded)
	f.equal("parent_node", q.ParentNode)
	if q.ParentNode == nil && !q.IncludeChildren {
		f.q.Where("parent_node IS NULL")
	}
	f.is("retired", q.Retired)
	f.set("reservation", q.Reserved)
	f.equal("reservation", q.Reservation)
	f.contains("description", q.DescriptionContains)
	return f, page(ctx, r, f, q.Page, nodes, nodeKeys, nodeNotFound)
}

func stateNames(states []metal.State) []string {
	if states == nil {
		return nil
	}
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return names
}

var likeEscape = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// contains matches as Ironic's LIKE does on its own database: letters of ASCII
// in any case.
func (f *filter) contains(column string, part *string) {
	if part != nil {
		f.where("lower("+column+`) LIKE lower(?) ESCAPE '\'`, "%"+likeEscape.Replace(*part)+"%")
	}
}

// NodeCounts is the number of nodes in each provision state.
func (r reads) NodeCounts(ctx context.Context) (map[metal.State]int64, error) {
	return r.countNodes(ctx, "")
}

// NodeCountsIn is NodeCounts of one conductor group.
func (r reads) NodeCountsIn(ctx context.Context, group string) (map[metal.State]int64, error) {
	return r.countNodes(ctx, " WHERE conductor_group = ?", group)
}

func (r reads) countNodes(ctx context.Context, where string, args ...any) (map[metal.State]int64, error) {
	rows, err := r.c.query(ctx, "SELECT provision_state, count(*) FROM nodes"+where+" GROUP BY provision_state", args...)
	if err != nil {
		return nil, failed(err, "count nodes")
	}
	defer rows.Close()
	counts := map[metal.State]int64{}
	for rows.Next() {
		var state string
		var n int64
		if err := rows.Scan(&state, &n); err != nil {
			return nil, failed(err, "count nodes")
		}
		counts[metal.State(state)] = n
	}
	return counts, failed(rows.Err(), "count nodes")
}

// PortQuery filters a list of ports. Nil and zero are no condition.
type PortQuery struct {
	Page
	NodeUUID        *string
	PortgroupUUID   *string
	Addresses       []string // in any case
	Shards          []string // of the port's node
	ConductorGroups []string // of the port's node
	Project         *string  // owner or lessee of the port's node
	// DescriptionContains is looked for without regard to case; an empty one is
	// in every description that there is.
	DescriptionContains *string
}

// portKeys are what ports can be sorted by.
var portKeys = func() sortable {
	keys := sortable{"node_id": "node_uuid", "portgroup_id": "portgroup_uuid"}
	for _, f := range ports.fields(new(metal.Port)) {
		keys[f.column] = f.column
	}
	for _, c := range []string{"extra", "internal_info", "local_link_connection", "node_uuid", "portgroup_uuid"} {
		delete(keys, c)
	}
	return keys
}()

// Ports lists ports.
func (r reads) Ports(ctx context.Context, q PortQuery) ([]metal.Port, error) {
	f, err := r.portsIn(ctx, q)
	if err != nil {
		return nil, failed(err, "list ports")
	}
	list, err := ports.find(ctx, r.c, f, nil)
	return list, failed(err, "list ports")
}

func (r reads) portsIn(ctx context.Context, q PortQuery) (*filter, error) {
	f := selectFrom(r, ports, nil)
	f.equal("node_uuid", q.NodeUUID)
	f.equal("portgroup_uuid", q.PortgroupUUID)
	if q.Addresses != nil {
		lower := make([]string, len(q.Addresses))
		for i, a := range q.Addresses {
			lower[i] = strings.ToLower(a)
		}
		f.among("address", lower)
	}
	f.contains("description", q.DescriptionContains)
	f.ofNodes(r, q.Shards, q.ConductorGroups, q.Project)
	return f, page(ctx, r, f, q.Page, ports, portKeys, portNotFound)
}
