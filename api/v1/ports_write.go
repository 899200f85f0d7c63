package v1

import (
	"context"
	"net/http"
	"slices"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// createPort adds a port to a node (Ironic: PortsController.post).
func (s *Service) createPort(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	p, err := newPort(body)
	if err != nil {
		return schemaOf("port", err)
	}
	ident, _ := body["node_ident"].(string)
	if ident != "" && c.version < 94 {
		return notAcceptable()
	}
	if ident == "" {
		ident = p.NodeUUID
	}
	n, err := s.anyNode(c, ident)
	if err := s.mayCreatePort(c, &n, err); err != nil {
		return err
	}
	if err != nil {
		return asMissingReference(err)
	}
	p.NodeUUID = n.UUID
	if err := gatePort(c.version, body); err != nil {
		return err
	}
	if err := checkPhysicalNetwork(p); err != nil {
		return err
	}
	if err := checkSmartNIC(p); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.requireConductor(ctx, &n, http.StatusNotFound); err != nil {
		return err
	}
	err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		p.CreatedAt = s.now()
		if err := enterPortgroup(ctx, tx, p, body); err != nil {
			return err
		}
		return tx.InsertPort(ctx, p)
	})
	if err != nil {
		return err
	}
	c.location("ports/" + p.UUID)
	return s.answerPort(c, http.StatusCreated, p, detailView(openapi.PortFields, c.version))
}

func newPort(body map[string]any) (*metal.Port, error) {
	p := &metal.Port{
		PXEEnabled: true, AvailableForDynamicPortgroup: true,
		Extra: metal.EmptyObject, InternalInfo: metal.EmptyObject, LocalLinkConnection: metal.EmptyObject,
	}
	if err := onlyKnown(body, creatable(openapi.PortFields)); err != nil {
		return nil, err
	}
	if !has(body, "address") {
		return nil, missing("address")
	}
	switch uuid, ident := has(body, "node_uuid"), has(body, "node_ident"); {
	case uuid && ident:
		return nil, violates("%s is valid under each of {'required': ['node_uuid']}, {'required': ['node_ident']}", shown(body))
	case !uuid && !ident:
		return nil, noAlternative(body, missing("node_ident"))
	}
	if v, given := body["node_ident"]; given {
		if _, ok := v.(string); !ok {
			return nil, wrongType(v, "string")
		}
	}
	for _, f := range openapi.PortFields.Fields {
		v, given := body[f.Name]
		if !given || f.Name == "node_ident" {
			continue
		}
		if err := portAttributes[f.Name].set(p, v); err != nil {
			return nil, err
		}
	}
	if p.UUID == "" {
		p.UUID = newUUID()
	}
	return p, nil
}

// gatePort refuses what the version does not know; unlike a node's, a port's
// fields are refused even where they are null.
func gatePort(v openapi.Version, body map[string]any) error {
	for name := range body {
		if f, _, ok := openapi.PortFields.Field(name); ok && name != "node_ident" && !f.VisibleAt(v) {
			return notAcceptable()
		}
	}
	return gateLink(v, body["local_link_connection"])
}

// asMissingReference turns the 404 of a node that a body names into 400.
func asMissingReference(err error) error {
	f := asFault(err)
	if f.Status != http.StatusNotFound {
		return err
	}
	return &fault{Status: http.StatusBadRequest, Text: f.Text, Cause: err}
}

// gatedPortRoots are the roots whose patch is refused when they are newer than
// the version (Ironic: PortsController.patch); others only stay hidden.
var gatedPortRoots = []string{"pxe_enabled", "local_link_connection", "portgroup_uuid", "physical_network", "is_smartnic"}

// updatePort applies a JSON patch to a port.
func (s *Service) updatePort(c *call) error {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return err
	}
	if err := checkPortRoots(c.version, ops); err != nil {
		return err
	}
	p, err := s.port(c)
	if err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), p.NodeUUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		fresh, err := tx.PortByUUID(ctx, p.UUID)
		if err != nil {
			return err
		}
		u := &portUpdate{service: s, call: c, tx: tx, ops: ops, node: n, before: fresh}
		p = fresh
		return u.run(ctx, &p)
	})
	if err != nil {
		return err
	}
	return s.answerPort(c, http.StatusOK, &p, detailView(openapi.PortFields, c.version))
}

func checkPortRoots(v openapi.Version, ops []patchOp) error {
	for _, op := range ops {
		if op.Root == "node_ident" {
			return badRequest("Cannot patch %s: give node_uuid.", op.Path)
		}
	}
	if err := checkRoots(ops, openapi.PortFields); err != nil {
		return err
	}
	for _, op := range ops {
		f, _, _ := openapi.PortFields.Field(op.Root)
		if !f.VisibleAt(v) && slices.Contains(gatedPortRoots, op.Root) && (len(op.Sub) == 0 || op.Op == "remove") {
			return notAcceptable()
		}
		if op.Path == "/local_link_connection/network_type" && v < 64 {
			return notAcceptable()
		}
	}
	return nil
}

// portUpdate is one patch of a port, in one transaction with its node locked.
type portUpdate struct {
	service *Service
	call    *call
	tx      *store.Tx
	ops     []patchOp
	node    *metal.Node
	before  metal.Port
}

func (u *portUpdate) run(ctx context.Context, p *metal.Port) error {
	if err := u.apply(p); err != nil {
		return err
	}
	if err := u.checkNode(ctx, p); err != nil {
		return err
	}
	if u.node.ProvisionState == metal.Inspecting && u.call.version >= 39 {
		return conflict("Cannot update port %q on %q while it is in state %q.", p.UUID, u.node.UUID, metal.Inspecting)
	}
	group, err := memberGroup(ctx, u.tx, p)
	if err != nil {
		return err
	}
	if group != nil && u.call.version >= 102 && updates(u.ops, "physical_network") {
		return badRequest("physical_network cannot be changed while the port belongs to a portgroup.")
	}
	if err := u.checkConnectivity(p); err != nil {
		return err
	}
	if err := u.checkMembership(ctx, p, group); err != nil {
		return err
	}
	return u.tx.UpdatePort(ctx, p)
}

func (u *portUpdate) apply(p *metal.Port) error {
	doc := map[string]any{}
	for _, name := range patchable(openapi.PortFields) {
		doc[name] = portAttributes[name].get(p)
	}
	if err := applyPatch(doc, u.ops); err != nil {
		return err
	}
	for _, f := range openapi.PortFields.Fields {
		if !f.Patch || !touches(u.ops, f.Name) {
			continue
		}
		if f.Name == "node_uuid" && doc[f.Name] == nil {
			continue // a port always has a node: removing it does nothing
		}
		if err := portAttributes[f.Name].set(p, doc[f.Name]); err != nil {
			return schemaOf("patch", err)
		}
	}
	if err := checkPhysicalNetwork(p); err != nil {
		return err
	}
	return checkSmartNIC(p)
}

// checkNode refuses a port's move to a node that is not there, or of another
// owner.
func (u *portUpdate) checkNode(ctx context.Context, p *metal.Port) error {
	if p.NodeUUID == u.before.NodeUUID {
		return nil
	}
	refused := badRequest("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", p.NodeUUID)
	to, err := u.tx.LockNode(ctx, p.NodeUUID)
	switch {
	case metal.ReasonOf(err) == metal.NotFound:
		return refused
	case err != nil:
		return err
	case !u.call.rights.sees(to.Owner, to.Lessee), !sameText(to.Owner, u.node.Owner):
		return refused
	case to.Reservation != nil:
		return locked(to)
	}
	return nil
}

// checkConnectivity are the rules of address and of what the port is connected
// to (Ironic: ConductorManager.update_port).
func (u *portUpdate) checkConnectivity(p *metal.Port) error {
	n := u.node
	if p.Address != u.before.Address && (n.ProvisionState == metal.Active || n.InstanceUUID != nil) && !n.Maintenance {
		return conflict("Cannot update hardware address for port %s as node %s is active or has instance UUID assigned", p.UUID, n.UUID)
	}
	changed := !sameText(p.PortgroupUUID, u.before.PortgroupUUID) || p.PXEEnabled != u.before.PXEEnabled ||
		p.LocalLinkConnection != u.before.LocalLinkConnection || !sameText(p.PhysicalNetwork, u.before.PhysicalNetwork) ||
		p.NodeUUID != u.before.NodeUUID
	allowed := []metal.State{metal.Enroll, metal.Inspecting, metal.InspectWait, metal.Manageable}
	if changed && !n.ProvisionState.Is(allowed...) && !n.Maintenance {
		return conflict("Port %s can not have any connectivity attributes updated unless node %s is in a %s state or in maintenance mode. The current state is %s.",
			p.UUID, n.UUID, stateNames(allowed), n.ProvisionState)
	}
	return nil
}

// deletePort removes a port; only its UUID names it here.
func (s *Service) deletePort(c *call) error {
	uuid := c.Param("port")
	if !isUUIDLike(uuid) {
		return badRequest("Expected UUID for port_uuid: %s", uuid)
	}
	p, err := s.store.PortByUUID(c.Request().Context(), uuid)
	if err != nil {
		return err
	}
	if err := s.authorizePort(c, &p, uuid); err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), p.NodeUUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		vif := p.InternalInfo.Text("tenant_vif_port_id")
		if vif != "" && !n.Maintenance {
			return conflict("Cannot delete the port %s as it is bound to VIF %s for use.", p.UUID, vif)
		}
		return tx.DeletePort(ctx, p.UUID)
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
