package v1

import (
	"net/http"

	"ferrule/metal"
	"ferrule/openapi"
)

// Parts are what belongs to a node and has a route of its own: portgroups and
// volumes. Who may do what with one is a matter of its node.

// authorizePart does for a part what authorizeNode does for a node (Ironic:
// check_port_policy_and_retrieve, check_volume_policy_and_retrieve).
func (s *Service) authorizePart(c *call, nodeUUID string, noun, ident string) error {
	if !c.rights.enforced {
		return nil
	}
	n, err := s.store.NodeByUUID(c.Request().Context(), nodeUUID)
	if err != nil {
		return err
	}
	about := ofPortsNode(&n)
	err = c.rights.conceal(seeNode, about, notFound("%s %s could not be found.", noun, ident))
	if err != nil || c.op.About == openapi.AboutList {
		return err
	}
	return c.rights.authorize(c.op.Policies[0], about)
}

// checkPartNode refuses a new part of a node that is not there. The policy is
// asked whether or not it is, so that an answer tells nothing of nodes that the
// sender may not know of.
func (s *Service) checkPartNode(c *call, uuid string) error {
	n, err := s.store.NodeByUUID(c.Request().Context(), uuid)
	if err != nil && metal.ReasonOf(err) != metal.NotFound {
		return err
	}
	missing := &fault{Status: http.StatusBadRequest, Text: "Node " + uuid + " could not be found.", Cause: err}
	if err == nil && c.rights.sees(n.Owner, n.Lessee) {
		return c.authorizeOwned(&n, c.op.Policies[0])
	}
	if err := c.rights.authorize(c.op.Policies[0], ofNode(nil, nil)); err != nil {
		return err
	}
	return missing
}
