package v1

import (
	"net/http"
	"slices"

	"ferrule/metal"
	"ferrule/openapi"
)

// getNode shows one node: every field, or those that fields= names.
func (s *Service) getNode(c *call) error {
	n, err := s.nodeWithSuffix(c, c.Param("node"))
	if err != nil {
		return err
	}
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	fields := detailView(openapi.NodeFields, c.version)
	if names, given := c.query.list("fields"); given {
		if fields, err = selectView(openapi.NodeFields, c.version, names); err != nil {
			return err
		}
	}
	return s.answerNode(c, http.StatusOK, &n, fields)
}

func (s *Service) answerNode(c *call, status int, n *metal.Node, fields view) error {
	e, err := s.encoding(c, slices.Contains(fields, openapi.NodeConductor))
	if err != nil {
		return err
	}
	return c.send(status, func(b []byte) []byte { return appendNode(b, n, fields, e) })
}

// getStates shows the states of a node alone.
func (s *Service) getStates(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 1024), '{')
	for i := range openapi.NodeStatesFields.Fields {
		f := &openapi.NodeStatesFields.Fields[i]
		if !f.VisibleAt(c.version) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		_, index, _ := openapi.NodeFields.Field(f.Name)
		b = appendKey(b, f.Name)
		b = nodeEncoders[index](b, &n, c.encoding())
	}
	return c.json(http.StatusOK, append(b, '}'))
}

// deleteNode removes a node with all that is its own.
func (s *Service) deleteNode(c *call) error {
	n, err := s.nodeWithSuffix(c, c.Param("node"))
	if err != nil {
		return err
	}
	if err := s.mayDelete(c, &n); err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), n.UUID, s.removeNode)
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
