package v1

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"ferrule/metal"
	"ferrule/metal/pytext"
	"ferrule/openapi"
	"ferrule/store"
)

// updateNode applies a JSON patch to a node (Ironic: NodesController.patch and
// ConductorManager.update_node).
func (s *Service) updateNode(c *call) error {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return err
	}
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	if err := s.checkNodePatch(c, ops); err != nil {
		return err
	}
	n, err := s.nodeWithSuffix(c, c.Param("node"))
	if err != nil {
		return err
	}
	if err := c.authorizeOwned(&n, patchPolicies(ops)...); err != nil {
		return err
	}
	var updated metal.Node
	err = s.whenFree(c.Request().Context(), n.UUID, func() error {
		return s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
			u := &nodeUpdate{service: s, call: c, tx: tx, ops: ops}
			node, err := tx.LockNode(ctx, n.UUID)
			if err != nil {
				return err
			}
			if err := u.run(ctx, node); err != nil {
				return err
			}
			updated = *node
			return nil
		})
	})
	if err != nil {
		return err
	}
	// Ironic answers while it still holds the lock, and shows it.
	updated.Reservation = &s.config.Default.Host
	return s.answerNode(c, http.StatusOK, &updated, detailView(openapi.NodeFields, c.version))
}

// checkNodePatch is what can be said of a patch without its node.
func (s *Service) checkNodePatch(c *call, ops []patchOp) error {
	if err := checkRoots(ops, openapi.NodeFields); err != nil {
		return err
	}
	for i := range openapi.NodeFields.Fields {
		f := &openapi.NodeFields.Fields[i]
		if !f.VisibleAt(c.version) && len(patchValues(ops, "/"+f.Name)) > 0 {
			return notAcceptable()
		}
	}
	if c.query.flag("reset_interfaces") && len(patchValues(ops, "/driver")) == 0 {
		return badRequest("The reset_interfaces parameter can only be used when changing the node's driver.")
	}
	for _, v := range patchValues(ops, "/description") {
		if text, ok := v.(string); ok && utf8.RuneCountInString(text) > 4096 {
			return badRequest("Cannot update node with description exceeding 4096 characters")
		}
	}
	for _, v := range patchValues(ops, "/conductor_group") {
		if err := checkConductorGroup(v); err != nil {
			return err
		}
	}
	for _, v := range patchValues(ops, "/network_data") {
		if err := checkNetworkData(v); err != nil {
			return err
		}
	}
	for _, v := range patchValues(ops, "/parent_node") {
		if _, ok := v.(string); !ok {
			return badRequest("Unable to apply the requested parent_node. Requested value was invalid.")
		}
	}
	return nil
}

// nodeUpdate is one patch on its way through the checks, in one transaction.
type nodeUpdate struct {
	service *Service
	call    *call
	tx      *store.Tx
	ops     []patchOp
	before  metal.Node
}

func (u *nodeUpdate) run(ctx context.Context, n *metal.Node) error {
	u.before = *n
	if err := u.checkState(n); err != nil {
		return err
	}
	for _, v := range patchValues(u.ops, "/name") {
		refusal := fmt.Sprintf("Node %s: Cannot change name to", u.call.Param("node"))
		name, ok := v.(string)
		if !ok {
			return badRequest("%s invalid name '%s'", refusal, pytext.Str(v))
		}
		if err := checkNodeName(refusal, u.call.version, name); err != nil {
			return err
		}
	}
	if err := u.apply(n); err != nil {
		return err
	}
	if err := u.checkLinks(ctx, n); err != nil {
		return err
	}
	if err := u.checkFlags(n); err != nil {
		return err
	}
	if err := u.checkInterfaces(ctx, n); err != nil {
		return err
	}
	if n.Reservation != nil {
		return locked(n)
	}
	if err := u.checkInstance(n); err != nil {
		return err
	}
	if err := u.checkAllocation(ctx, n); err != nil {
		return err
	}
	if u.before.Properties != n.Properties {
		if err := checkSizes(n); err != nil {
			return err
		}
	}
	passwords := u.holdPasswords(n)
	secrets, err := u.service.sealSecrets(&u.before, n)
	if err != nil {
		return err
	}
	if err := passwords.follow(ctx, u, secrets); err != nil {
		return err
	}
	if err := u.tx.UpdateNode(ctx, n); err != nil {
		return err
	}
	if err := u.service.writeSecrets(ctx, u.tx, secrets); err != nil {
		return err
	}
	return passwords.tell(ctx, u, n)
}

// checkState refuses a change while the node moves from one state to another.
func (u *nodeUpdate) checkState(n *metal.Node) error {
	removesInstance := len(u.ops) == 1 && u.ops[0].Op == "remove" && u.ops[0].Path == "/instance_uuid" && !u.ops[0].HasValue
	if n.Maintenance && removesInstance {
		return nil
	}
	info, _ := n.ProvisionState.Info()
	switch {
	case n.TargetProvisionState != metal.NoState && !info.UpdateAllowed:
		return conflict("Node %s can not be updated while a state transition is in progress.", u.call.Param("node"))
	case n.ProvisionState == metal.Inspecting && u.call.version >= 39:
		return conflict("Cannot update node %q while it is in state %q.", n.UUID, metal.Inspecting)
	}
	if n.ProvisionState == metal.Active && len(patchValues(u.ops, "/owner")) > 0 &&
		u.call.authorizeOwned(n, "baremetal:node:update_owner_provisioned") != nil {
		return conflict("Cannot update owner of node %q while it is in state %q.", n.UUID, metal.Active)
	}
	return nil
}

// apply applies the operations to the node's document and stores what changed.
func (u *nodeUpdate) apply(n *metal.Node) error {
	doc := nodeDocument(n, patchable(openapi.NodeFields))
	if err := applyPatch(doc, u.ops); err != nil {
		return err
	}
	for _, f := range openapi.NodeFields.Fields {
		if !f.Patch || !touches(u.ops, f.Name) {
			continue
		}
		if err := setAttribute(n, f.Name, doc[f.Name]); err != nil {
			return schemaOf("patch", err)
		}
	}
	if touches(u.ops, "network_data") && !n.NetworkData.Empty() {
		if err := checkNetworkData(n.NetworkData.Object()); err != nil {
			return err
		}
	}
	if n.Driver == "" {
		return schemaOf("patch", missing("driver"))
	}
	if touches(u.ops, "instance_info") && (n.InstanceName == nil || *n.InstanceName == "") {
		if display := n.InstanceInfo.Text("display_name"); display != "" && u.before.InstanceInfo != n.InstanceInfo {
			n.InstanceName = &display
		}
	}
	return u.service.checkEnrollment(n)
}

// checkLinks resolves what the node refers to.
func (u *nodeUpdate) checkLinks(ctx context.Context, n *metal.Node) error {
	if len(patchValues(u.ops, "/parent_node")) > 0 {
		if err := u.service.linkParent(u.call, u.tx, ctx, n); err != nil {
			return err
		}
	}
	if u.before.ChassisUUID != nil && n.ChassisUUID == nil && u.call.version < 25 {
		return notAcceptable()
	}
	return enterChassis(ctx, u.tx, &u.before, n)
}

// checkFlags are the rules of maintenance, protected and retired.
func (u *nodeUpdate) checkFlags(n *metal.Node) error {
	if u.before.Maintenance && !n.Maintenance {
		n.MaintenanceReason, n.Fault = nil, nil
	}
	if n.Protected != u.before.Protected {
		if !n.Protected {
			n.ProtectedReason = nil
		} else if !n.ProvisionState.Is(metal.Active, metal.Rescue) {
			return conflict("Node %s can only be made protected in provision states 'active' or 'rescue', the current state is '%s'",
				n.UUID, n.ProvisionState)
		}
	}
	if !n.Protected && !sameText(u.before.ProtectedReason, n.ProtectedReason) && filled(n.ProtectedReason) {
		return badRequest("The protected_reason field can only be set when protected is True")
	}
	if n.Retired != u.before.Retired {
		if !n.Retired {
			n.RetiredReason = nil
		} else if n.ProvisionState == metal.Available {
			return conflict("Node %s can not have 'retired' set in provision state 'available'", n.UUID)
		}
	}
	if !n.Retired && !sameText(u.before.RetiredReason, n.RetiredReason) && filled(n.RetiredReason) {
		return badRequest("The retired_reason field can only be set when retired is True")
	}
	return nil
}

func filled(s *string) bool { return s != nil && *s != "" }

// updatable are the states in which interfaces and the resource class may
// change.
var updatable = []metal.State{metal.Enroll, metal.Inspecting, metal.InspectWait, metal.Manageable, metal.Available}

// checkInterfaces are the rules of driver, interfaces and conductor group.
func (u *nodeUpdate) checkInterfaces(ctx context.Context, n *metal.Node) error {
	newDriver := n.Driver != u.before.Driver
	if newDriver || n.ConductorGroup != u.before.ConductorGroup {
		if err := u.service.requireConductor(ctx, n, http.StatusBadRequest); err != nil {
			return err
		}
	}
	if newDriver && u.before.ConsoleEnabled {
		return conflict("Node %s can not update the driver while the console is enabled. Please stop the console first.", n.UUID)
	}
	check := newDriver
	for _, t := range metal.InterfaceTypes() {
		field := n.InterfaceField(t)
		if *field == u.before.Interface(t) {
			if newDriver && u.call.query.flag("reset_interfaces") {
				*field = ""
			}
			continue
		}
		if !n.ProvisionState.Is(updatable...) && !n.Maintenance {
			return conflict("Node %s can not have %s_interface updated unless it is in one of allowed (%s) states or in maintenance mode. Current state is '%s'.",
				n.UUID, t, stateNames(updatable), n.ProvisionState)
		}
		check = true
	}
	if !check {
		return nil
	}
	if n.DeployInterface != u.before.DeployInterface {
		n.DriverInternalInfo = n.DriverInternalInfo.Without("original_deploy_interface")
	}
	return u.service.catalogue.ResolveInterfaces(n)
}

// checkInstance are the rules of instance_uuid and resource_class.
func (u *nodeUpdate) checkInstance(n *metal.Node) error {
	if n.InstanceUUID != nil && u.before.InstanceUUID != nil && *n.InstanceUUID != *u.before.InstanceUUID {
		return conflict("Node %s is associated with instance %s.", n.UUID, *u.before.InstanceUUID)
	}
	if filled(u.before.ResourceClass) && !sameText(u.before.ResourceClass, n.ResourceClass) && !n.ProvisionState.Is(updatable...) {
		return conflict("Node %s can not have resource_class updated unless it is in one of allowed (%s) states. Current state is '%s'.",
			n.UUID, stateNames(updatable), n.ProvisionState)
	}
	return nil
}

func stateNames(states []metal.State) string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
