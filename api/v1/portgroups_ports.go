package v1

import (
	"context"

	"ferrule/metal"
	"ferrule/store"
)

func (s *Service) listPortgroupPorts(c *call) error {
	p, err := s.portgroup(c)
	if err != nil {
		return err
	}
	return s.portList(c, "portgroups/"+c.Param("portgroup")+"/ports", parent{portgroup: &p.UUID})
}

func (s *Service) listPortgroupPortsDetail(c *call) error {
	p, err := s.portgroup(c)
	if err != nil {
		return err
	}
	return s.portDetails(c, "portgroups/"+c.Param("portgroup")+"/ports/detail", parent{portgroup: &p.UUID})
}

// memberGroup is the portgroup that a port is to be a member of, nil for none.
func memberGroup(ctx context.Context, tx *store.Tx, p *metal.Port) (*metal.Portgroup, error) {
	if p.PortgroupUUID == nil {
		return nil, nil
	}
	g, err := tx.PortgroupByUUID(ctx, *p.PortgroupUUID)
	if err != nil {
		return nil, asMissingReference(err)
	}
	if g.NodeUUID != p.NodeUUID {
		return nil, badRequest("Port can not be added to a portgroup belonging to a different node.")
	}
	return &g, nil
}

// joinPortgroup holds a port to the physical network of the group that it is to
// be a member of: that of the other members, else the group's own. The first
// member's network becomes that of a group without one (Ironic:
// validate_port_physnet).
func joinPortgroup(ctx context.Context, tx *store.Tx, p *metal.Port, g *metal.Portgroup) error {
	members, err := tx.Ports(ctx, store.PortQuery{PortgroupUUID: &g.UUID})
	if err != nil {
		return err
	}
	network := g.PhysicalNetwork
	others := false
	for i := range members {
		if members[i].UUID != p.UUID {
			network, others = members[i].PhysicalNetwork, true
		}
	}
	switch {
	case !others && network == nil && p.PhysicalNetwork != nil:
		g.PhysicalNetwork = p.PhysicalNetwork
		return tx.UpdatePortgroup(ctx, g)
	case !others && network == nil:
		return nil
	case !sameText(network, p.PhysicalNetwork):
		return conflict("Port with physical network %s cannot become a member of port group %s which has ports in physical network %s.",
			orNone(p.PhysicalNetwork), g.UUID, orNone(network))
	}
	return nil
}

// enterPortgroup checks the portgroup of a new port.
func enterPortgroup(ctx context.Context, tx *store.Tx, p *metal.Port, body map[string]any) error {
	g, err := memberGroup(ctx, tx, p)
	if err != nil || g == nil {
		return err
	}
	if truthy(body["pxe_enabled"]) && p.PXEEnabled && !g.StandalonePortsSupported {
		return conflict("Port group %s doesn't support standalone ports. This port cannot be created as a member of that portgroup as the port's 'pxe_enabled' field was set to True.", g.UUID)
	}
	return joinPortgroup(ctx, tx, p, g)
}

// checkMembership holds a changed port to the group that it is in, or enters.
// A node without networks of its own does not care what boots (Ironic:
// network/common.port_changed).
func (u *portUpdate) checkMembership(ctx context.Context, p *metal.Port, g *metal.Portgroup) error {
	if g == nil {
		return nil
	}
	entered := !sameText(p.PortgroupUUID, u.before.PortgroupUUID)
	if u.service.machine(u.node).Row(metal.NetworkInterface).Network.ChecksPorts && !g.StandalonePortsSupported && p.PXEEnabled && (entered || !u.before.PXEEnabled) {
		return conflict("Port group %s doesn't support standalone ports. Port %s can not be a member of it with pxe_enabled.", g.UUID, p.UUID)
	}
	if !entered && sameText(p.PhysicalNetwork, u.before.PhysicalNetwork) {
		return nil
	}
	return joinPortgroup(ctx, u.tx, p, g)
}

func orNone(s *string) string {
	if s == nil {
		return "None"
	}
	return *s
}
