package v1

import (
	"context"

	"ferrule/metal"
	"ferrule/store"
)

// portgroupUpdate is one patch of a portgroup, in one transaction with its node
// locked (Ironic: ConductorManager.update_portgroup).
type portgroupUpdate struct {
	service *Service
	call    *call
	tx      *store.Tx
	ops     []patchOp
	node    *metal.Node
	before  metal.Portgroup
}

func (u *portgroupUpdate) run(ctx context.Context, p *metal.Portgroup) error {
	if err := portgroups.patch(p, u.ops); err != nil {
		return err
	}
	if err := checkLogicalName("update portgroup "+p.UUID, p.Name); err != nil {
		return err
	}
	n := u.node
	if n.ProvisionState == metal.Inspecting && u.call.version >= 39 {
		return conflict("Cannot update portgroup %q on node %q while it is in state %q.", p.UUID, n.UUID, metal.Inspecting)
	}
	members, err := u.tx.Ports(ctx, store.PortQuery{PortgroupUUID: &p.UUID})
	if err != nil {
		return err
	}
	if err := u.checkMove(ctx, p, members); err != nil {
		return err
	}
	if err := u.checkStandalone(p, members); err != nil {
		return err
	}
	if err := u.tx.UpdatePortgroup(ctx, p); err != nil {
		return err
	}
	return u.pushNetwork(ctx, p, members)
}

// checkMove lets a group without ports go to another node that may change.
func (u *portgroupUpdate) checkMove(ctx context.Context, p *metal.Portgroup, members []metal.Port) error {
	if p.NodeUUID == u.before.NodeUUID {
		return nil
	}
	to, err := u.call.otherNode(ctx, u.tx, u.node, p.NodeUUID)
	if err != nil {
		return err
	}
	if !to.ProvisionState.Is(connectable...) && !to.Maintenance {
		return conflict("Portgroup %s can not be associated to node %s unless the node is in a %s state or in maintenance mode. Current state is '%s'.",
			p.UUID, to.UUID, stateNames(connectable), to.ProvisionState)
	}
	if len(members) > 0 {
		return badRequest("Portgroup %s can not be associated with node %s because there are ports associated with this portgroup.", p.UUID, to.UUID)
	}
	return nil
}

// connectable are the states in which what a node is connected to may change.
var connectable = []metal.State{metal.Enroll, metal.Inspecting, metal.InspectWait, metal.Manageable}

// otherNode is the node, locked, that something of n is to move to: it must be
// there, of the same owner, and free.
func (c *call) otherNode(ctx context.Context, tx *store.Tx, n *metal.Node, uuid string) (*metal.Node, error) {
	refused := badRequest("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", uuid)
	to, err := tx.LockNode(ctx, uuid)
	switch {
	case metal.ReasonOf(err) == metal.NotFound:
		return nil, refused
	case err != nil:
		return nil, err
	case !c.rights.sees(to.Owner, to.Lessee), !sameText(to.Owner, n.Owner):
		return nil, refused
	case to.Reservation != nil:
		return nil, locked(to)
	}
	return to, nil
}

// checkStandalone keeps members that boot or carry a network by themselves from
// losing the right to (Ironic: network/common.portgroup_changed). A node without
// networks of its own does not care.
func (u *portgroupUpdate) checkStandalone(p *metal.Portgroup, members []metal.Port) error {
	if p.StandalonePortsSupported || !u.before.StandalonePortsSupported || !u.service.machine(u.node).Row(metal.NetworkInterface).Network.ChecksPorts {
		return nil
	}
	for i := range members {
		if members[i].PXEEnabled || members[i].InternalInfo.Text("tenant_vif_port_id") != "" {
			return conflict("standalone_ports_supported of portgroup %s can not be set to False, because port %s is pxe_enabled or has a VIF.",
				p.UUID, members[i].UUID)
		}
	}
	return nil
}

// pushNetwork gives the members the physical network that the patch sets.
func (u *portgroupUpdate) pushNetwork(ctx context.Context, p *metal.Portgroup, members []metal.Port) error {
	if !touches(u.ops, "physical_network") {
		return nil
	}
	for i := range members {
		if sameText(members[i].PhysicalNetwork, p.PhysicalNetwork) {
			continue
		}
		members[i].PhysicalNetwork = p.PhysicalNetwork
		if err := u.tx.UpdatePort(ctx, &members[i]); err != nil {
			return err
		}
	}
	return nil
}
