package v1

import (
	"context"
	"net/http"

	"ferrule/metal"
	"ferrule/store"
)

// removeNode deletes a node where its state lets it go. A node in maintenance
// always may, so that a dead BMC keeps nothing (Ironic: destroy_node).
func (s *Service) removeNode(ctx context.Context, tx *store.Tx, n *metal.Node) error {
	if !n.Maintenance && n.InstanceUUID != nil {
		return conflict("Node %s is associated with instance %s.", n.UUID, *n.InstanceUUID)
	}
	if n.Protected {
		return faultf(http.StatusForbidden, "Node %s is protected and can not be undeployed, rebuilt or deleted.", n.UUID)
	}
	deletable := n.ProvisionState.Is(metal.Enroll, metal.Manageable, metal.AdoptFailed) ||
		n.ProvisionState == metal.Available && s.config.Conductor.AllowDeletingAvailableNodes
	if !n.Maintenance && !deletable {
		return conflict("Can not delete node %q while it is in provision state %q. Move it to manageable, or set the node into maintenance mode.",
			n.UUID, n.ProvisionState)
	}
	return tx.DeleteNode(ctx, n.UUID)
}
