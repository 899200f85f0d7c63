package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ferrule/metal"
)

var nodes = newTable("nodes", func(n *metal.Node) []field {
	return []field{
		fixed("id", &n.ID),
		fixed("uuid", &n.UUID),
		col("name", optText{&n.Name}),
		col("power_state", optText{&n.PowerState}),
		col("target_power_state", optText{&n.TargetPowerState}),
		col("provision_state", (*string)(&n.ProvisionState)),
		col("target_provision_state", nullEmpty{(*string)(&n.TargetProvisionState)}),
		col("provision_updated_at", optTime{&n.ProvisionUpdatedAt}),
		col("last_error", optText{&n.LastError}),
		col("reservation", optText{&n.Reservation}),
		col("maintenance", &n.Maintenance),
		col("maintenance_reason", optText{&n.MaintenanceReason}),
		col("fault", optText{&n.Fault}),
		col("health", optText{&n.Health}),
		col("driver", &n.Driver),
		col("bios_interface", &n.BIOSInterface),
		col("boot_interface", &n.BootInterface),
		col("console_interface", &n.ConsoleInterface),
		col("deploy_interface", &n.DeployInterface),
		col("firmware_interface", &n.FirmwareInterface),
		col("inspect_interface", &n.InspectInterface),
		col("management_interface", &n.ManagementInterface),
		col("network_interface", &n.NetworkInterface),
		col("power_interface", &n.PowerInterface),
		col("raid_interface", &n.RAIDInterface),
		col("rescue_interface", &n.RescueInterface),
		col("storage_interface", &n.StorageInterface),
		col("vendor_interface", &n.VendorInterface),
		col("driver_info", (*string)(&n.DriverInfo)),
		col("driver_internal_info", (*string)(&n.DriverInternalInfo)),
		col("properties", (*string)(&n.Properties)),
		col("extra", (*string)(&n.Extra)),
		col("instance_info", (*string)(&n.InstanceInfo)),
		col("raid_config", (*string)(&n.RAIDConfig)),
		col("target_raid_config", (*string)(&n.TargetRAIDConfig)),
		col("clean_step", (*string)(&n.CleanStep)),
		col("deploy_step", (*string)(&n.DeployStep)),
		col("service_step", (*string)(&n.ServiceStep)),
		col("network_data", (*string)(&n.NetworkData)),
		col("traits", textList{&n.Traits}),
		col("instance_uuid", optText{&n.InstanceUUID}),
		col("instance_name", optText{&n.InstanceName}),
		col("chassis_uuid", optText{&n.ChassisUUID}),
		col("allocation_uuid", optText{&n.AllocationUUID}),
		col("parent_node", optText{&n.ParentNode}),
		col("resource_class", optText{&n.ResourceClass}),
		col("conductor_group", &n.ConductorGroup),
		col("owner", optText{&n.Owner}),
		col("lessee", optText{&n.Lessee}),
		col("shard", optText{&n.Shard}),
		col("description", optText{&n.Description}),
		col("automated_clean", optBool{&n.AutomatedClean}),
		col("protected", &n.Protected),
		col("protected_reason", optText{&n.ProtectedReason}),
		col("retired", &n.Retired),
		col("retired_reason", optText{&n.RetiredReason}),
		col("console_enabled", &n.ConsoleEnabled),
		col("boot_mode", optText{&n.BootMode}),
		col("secure_boot", optBool{&n.SecureBoot}),
		col("disable_power_off", &n.DisablePowerOff),
		col("inspection_started_at", optTime{&n.InspectionStartedAt}),
		col("inspection_finished_at", optTime{&n.InspectionFinishedAt}),
		fixed("created_at", instant{&n.CreatedAt}),
		col("updated_at", optTime{&n.UpdatedAt}),
		fixed("version", &n.Version),
		fixed("wake", &n.Wake),
	}
})

// objectFields are {} where nobody has set them.
func objectFields(n *metal.Node) []*metal.JSON {
	return []*metal.JSON{
		&n.DriverInfo, &n.DriverInternalInfo, &n.Properties, &n.Extra, &n.InstanceInfo, &n.RAIDConfig,
		&n.TargetRAIDConfig, &n.CleanStep, &n.DeployStep, &n.ServiceStep, &n.NetworkData,
	}
}

// Node finds a node by UUID or name, both taken literally.
func (r reads) Node(ctx context.Context, ident string) (metal.Node, error) {
	return r.node(ctx, ident, "WHERE uuid = ? OR name = ?", ident, ident)
}

// NodeByUUID finds a node by UUID alone.
func (r reads) NodeByUUID(ctx context.Context, uuid string) (metal.Node, error) {
	return r.node(ctx, uuid, "WHERE uuid = ?", uuid)
}

// NodeByInstance finds the node that carries the instance.
func (r reads) NodeByInstance(ctx context.Context, instanceUUID string) (metal.Node, error) {
	n, err := nodes.get(ctx, r.c, "WHERE instance_uuid = ?", instanceUUID)
	if errors.Is(err, errNoRow) {
		return n, metal.Errorf(metal.NotFound, "Instance %s could not be found.", instanceUUID)
	}
	return n, failed(err, "read node of instance %s", instanceUUID)
}

// NodeByMACs finds the one node that has a port with any of the addresses.
// Addresses of several nodes are as good as none (Ironic: get_node_by_port_addresses).
func (r reads) NodeByMACs(ctx context.Context, macs []string) (metal.Node, error) {
	found, err := r.nodesByMACs(ctx, macs)
	if err != nil {
		return metal.Node{}, err
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return metal.Node{}, metal.Errorf(metal.NotFound, "Node with port addresses %v was not found.", macs)
	}
	return metal.Node{}, metal.Errorf(metal.NotFound, "Multiple nodes with port addresses %v were found.", macs)
}

func (r reads) nodesByMACs(ctx context.Context, macs []string) ([]metal.Node, error) {
	if len(macs) == 0 {
		return nil, nil
	}
	args := make([]any, len(macs))
	for i, m := range macs {
		args[i] = strings.ToLower(m)
	}
	in := strings.TrimSuffix(strings.Repeat("?,", len(macs)), ",")
	list, err := nodes.list(ctx, r.c,
		"WHERE uuid IN (SELECT node_uuid FROM ports WHERE address IN ("+in+")) ORDER BY id LIMIT 2", args...)
	return list, failed(err, "find nodes by port addresses")
}

func (r reads) node(ctx context.Context, ident, tail string, args ...any) (metal.Node, error) {
	n, err := nodes.get(ctx, r.c, tail, args...)
	if errors.Is(err, errNoRow) {
		return n, nodeNotFound(ident)
	}
	return n, failed(err, "read node %s", ident)
}

func nodeNotFound(ident string) error {
	return metal.Errorf(metal.NotFound, "Node %s could not be found.", ident)
}

// failed wraps a failure of the engine; refusals of the domain stay as they are.
func failed(err error, format string, args ...any) error {
	if err = asOrphan(asOutage(err)); err == nil || metal.ReasonOf(err) != "" {
		return err
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

// LockNode reads a node, by UUID, to be changed: until the transaction ends
// nobody else gets past this, Post or UpdateNode for the same node.
func (tx *Tx) LockNode(ctx context.Context, uuid string) (*metal.Node, error) {
	if err := tx.claim(uuid); err != nil {
		return nil, err
	}
	n, err := tx.node(ctx, uuid, "WHERE uuid = ?"+tx.c.lock, uuid)
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// InsertNode adds a node, sets its ID and Version, and where they are not set
// CreatedAt and the empty objects.
func (tx *Tx) InsertNode(ctx context.Context, n *metal.Node) error {
	n.ID, n.Version, n.Wake = tx.newID(), 1, false
	if n.CreatedAt.IsZero() {
		n.CreatedAt = tx.now()
	}
	for _, f := range objectFields(n) {
		if *f == "" {
			*f = metal.EmptyObject
		}
	}
	ok, err := nodes.insert(ctx, tx.c, n)
	if err != nil {
		return failed(err, "insert node %s", n.UUID)
	}
	if !ok {
		return tx.nodeDuplicate(ctx, n, "")
	}
	return nil
}

// nodeDuplicate says which value of n another node has. index is the engine's
// word for it, if it has one.
func (tx *Tx) nodeDuplicate(ctx context.Context, n *metal.Node, index string) error {
	name, instance := "", ""
	if n.Name != nil {
		name = *n.Name
	}
	if n.InstanceUUID != nil {
		instance = *n.InstanceUUID
	}
	return tx.duplicate(ctx, index, []unique{
		{"nodes_uuid", "SELECT 1 FROM nodes WHERE uuid = ? AND id <> ?", []any{n.UUID, n.ID},
			"A node with UUID " + n.UUID + " already exists."},
		{"nodes_name", "SELECT 1 FROM nodes WHERE name = ? AND id <> ?", []any{name, n.ID},
			"A node with name " + name + " already exists."},
		{"nodes_instance_uuid", "SELECT 1 FROM nodes WHERE instance_uuid = ? AND id <> ?", []any{instance, n.ID},
			"Instance " + instance + " is already associated with a node, it cannot be associated with this other node " + n.UUID},
	})
}

// unique is a value that only one row may have.
type unique struct {
	index string
	probe string
	args  []any
	text  string
}

// duplicate is the refusal of a value that another row has: that of the named
// index, or else the first whose probe finds one.
func (tx *Tx) duplicate(ctx context.Context, index string, uniques []unique) error {
	for _, u := range uniques {
		if index != "" {
			if u.index == index {
				return metal.Errorf(metal.Conflict, "%s", u.text)
			}
			continue
		}
		var one int64
		found, err := tx.c.scalar(ctx, &one, u.probe, u.args...)
		if err != nil {
			return fmt.Errorf("find the duplicate: %w", err)
		}
		if found {
			return metal.Errorf(metal.Conflict, "%s", u.text)
		}
	}
	return fmt.Errorf("a value is there already (%s), but which one is not known", index)
}

// UpdateNode writes n where it still has the version that was read, and gives
// it the next one. With columns it writes only these (names of Ironic's fields)
// and updated_at. The wake mark is never written by it.
func (tx *Tx) UpdateNode(ctx context.Context, n *metal.Node, columns ...string) error {
	if err := tx.claim(n.UUID); err != nil {
		return err
	}
	now := tx.now()
	before := n.UpdatedAt
	n.UpdatedAt = &now
	changed, err := updateNode(ctx, tx.c, n, columns)
	if err == nil && changed == 1 {
		n.Version++
		return nil
	}
	n.UpdatedAt = before
	if index, ok := tx.c.duplicate(err); err != nil && ok {
		return tx.nodeDuplicate(ctx, n, index)
	}
	if err != nil {
		return failed(err, "update node %s", n.UUID)
	}
	return nodeChanged(ctx, tx.reads, n)
}

// TouchNode is UpdateNode by itself, one statement: for heartbeats that change
// nothing but a few columns.
func (s *Store) TouchNode(ctx context.Context, n *metal.Node, columns ...string) error {
	if len(columns) == 0 {
		return errors.New("store: TouchNode wants the columns")
	}
	if InUnit(ctx) {
		return s.Write(ctx, func(ctx context.Context, tx *Tx) error { return tx.UpdateNode(ctx, n, columns...) })
	}
	if _, err := s.c.within(ctx); err != nil {
		return err
	}
	now := s.now().UTC().Truncate(time.Microsecond)
	before := n.UpdatedAt
	n.UpdatedAt = &now
	var changed int64
	err := s.tries(ctx, func(h *holding) (err error) {
		if err = h.claim(n.UUID); err == nil {
			changed, err = updateNode(ctx, s.db.onWriter(), n, columns)
		}
		return err
	})
	if err == nil && changed == 1 {
		n.Version++
		return nil
	}
	n.UpdatedAt = before
	if err != nil {
		return failed(err, "update node %s", n.UUID)
	}
	return nodeChanged(ctx, s.reads, n)
}

func updateNode(ctx context.Context, c conn, n *metal.Node, columns []string) (int64, error) {
	const tail = ", version = version + 1 WHERE uuid = ? AND version = ?"
	if len(columns) == 0 {
		return nodes.update(ctx, c, n, tail, &n.UUID, &n.Version)
	}
	var set []string
	var args []any
	known := 0
	for _, f := range nodes.fields(n) {
		named := !f.fixed && slices.Contains(columns, f.column)
		if named {
			known++
		}
		if named || f.column == "updated_at" {
			set = append(set, f.column+" = ?")
			args = append(args, f.at)
		}
	}
	if known != len(columns) {
		return 0, fmt.Errorf("store: of the columns %v some cannot be written", columns)
	}
	return c.exec(ctx, "UPDATE nodes SET "+strings.Join(set, ", ")+tail, append(args, &n.UUID, &n.Version)...)
}

// nodeChanged is why an update met no row.
func nodeChanged(ctx context.Context, r reads, n *metal.Node) error {
	if _, err := r.NodeByUUID(ctx, n.UUID); err != nil {
		return err
	}
	return metal.Errorf(metal.Conflict, "Node %s was changed by another request meanwhile. Read it again and retry.", n.Label())
}

// DeleteNode removes the node with all that is its own: ports, history,
// inventory, operations, inbox, commands and secrets.
func (tx *Tx) DeleteNode(ctx context.Context, uuid string) error {
	if err := tx.claim(uuid); err != nil {
		return err
	}
	gone, err := tx.c.exec(ctx, "DELETE FROM nodes WHERE uuid = ?", uuid)
	if err != nil {
		return failed(err, "delete node %s", uuid)
	}
	if gone == 0 {
		return nodeNotFound(uuid)
	}
	return nil
}
