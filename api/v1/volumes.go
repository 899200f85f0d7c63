package v1

import (
	"context"
	"net/http"

	"ferrule/metal"
	"ferrule/store"
)

func (s *Service) getVolume(c *call) error { return c.volumeDocument("volume") }

func (s *Service) getNodeVolume(c *call) error {
	ident := c.Param("node")
	if _, err := s.node(c, ident); err != nil {
		return err
	}
	return c.volumeDocument("nodes", ident, "volume")
}

// volumeDocument tells where connectors and targets are.
func (c *call) volumeDocument(path ...string) error {
	b := appendLinks(append(make([]byte, 0, 1024), `{"links":`...), c.base, append(path[:len(path):len(path)], "")...)
	for _, part := range []string{"connectors", "targets"} {
		b = append(b, `,"`+part+`":`...)
		b = appendLinks(b, c.base, append(path[:len(path):len(path)], part)...)
	}
	return c.json(http.StatusOK, append(b, '}'))
}

// volumeQuery reads the filter and the page of a list; under is a list below a
// node.
func (s *Service) volumeQuery(c *call, l list, under bool) (store.VolumeQuery, error) {
	q := store.VolumeQuery{Page: l.page}
	ident, err := c.query.ident("node")
	if err != nil {
		return q, err
	}
	if q.Project, err = c.rights.project(c.op, nil); err != nil {
		return q, err
	}
	find := s.anyNode // of others' nodes, the list is empty
	if under {
		node := c.Param("node")
		ident, find = &node, s.node
	}
	if ident == nil {
		return q, nil
	}
	n, err := find(c, *ident)
	if err != nil {
		return q, err
	}
	q.NodeUUID = &n.UUID
	return q, nil
}

// changeVolume runs f with the node locked that something of volumes is to
// belong to, for which it has to be powered off (Ironic:
// ConductorManager.update_volume_connector, update_volume_target).
func (s *Service) changeVolume(c *call, what, from, to string, f func(ctx context.Context, tx *store.Tx) error) error {
	return s.changeNode(c.Request().Context(), to, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		if from != to {
			old, err := tx.NodeByUUID(ctx, from)
			if err != nil {
				return err
			}
			if !c.rights.sees(n.Owner, n.Lessee) || !sameText(old.Owner, n.Owner) {
				return badRequest("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", to)
			}
		}
		if value(n.PowerState) != string(metal.PowerOff) {
			return invalidState(what+" update", n, orNone(n.PowerState))
		}
		return f(ctx, tx)
	})
}

// movedTo is the node that a patch of an object of from is to leave it with.
func movedTo(ops []patchOp, from string) (string, error) {
	to := from
	for _, v := range patchValues(ops, "/node_uuid") {
		text, ok := v.(string)
		if !ok || !isUUIDLike(text) {
			return "", badRequest("Expected a UUID for node_uuid, but received %v.", v)
		}
		to = text
	}
	return to, nil
}

// unknownNode is the 400 where a patch names a node that is not there.
func unknownNode(err error, from, to string) error {
	if from != to && metal.ReasonOf(err) == metal.NotFound {
		return badRequest("Unable to apply the requested node_uuid '%s'. Requested value was invalid.", to)
	}
	return err
}

// releaseVolume runs f with the node locked that something of volumes is taken
// from.
func (s *Service) releaseVolume(c *call, what, node string, f func(ctx context.Context, tx *store.Tx) error) error {
	return s.changeNode(c.Request().Context(), node, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		if !n.ProvisionState.Is(metal.Enroll, metal.Manageable, metal.AdoptFailed) && value(n.PowerState) != string(metal.PowerOff) {
			return invalidState(what+" deletion", n, orNone(n.PowerState))
		}
		return f(ctx, tx)
	})
}

// value is a text, "" where it is null.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
