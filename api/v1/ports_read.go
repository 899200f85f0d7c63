package v1

import (
	"net/http"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// parent is what a path puts above a list of ports: nothing, a node or a
// portgroup.
type parent struct{ node, portgroup *string }

func (s *Service) listPorts(c *call) error       { return s.portList(c, "ports", parent{}) }
func (s *Service) listPortsDetail(c *call) error { return s.portDetails(c, "ports/detail", parent{}) }

func (s *Service) listNodePorts(c *call) error {
	ident := c.Param("node")
	return s.portList(c, "nodes/"+ident+"/ports", parent{node: &ident})
}

func (s *Service) listNodePortsDetail(c *call) error {
	ident := c.Param("node")
	return s.portDetails(c, "nodes/"+ident+"/ports/detail", parent{node: &ident})
}

func (s *Service) portList(c *call, collection string, above parent) error {
	q, err := s.portQuery(c, above)
	if err != nil {
		return err
	}
	fields, err := listMode(c, openapi.PortFields)
	if err != nil {
		return err
	}
	return s.answerPorts(c, collection, q, fields, nextFields(c, "uuid", "address"))
}

func (s *Service) portDetails(c *call, collection string, above parent) error {
	q, err := s.portQuery(c, above)
	if err != nil {
		return err
	}
	return s.answerPorts(c, collection, q, detailView(openapi.PortFields, c.version), nil)
}

// portQuery reads the filters of a list of ports; above is what the path names
// (Ironic: PortsController.get_all and _get_ports_collection).
func (s *Service) portQuery(c *call, above parent) (store.PortQuery, error) {
	var q store.PortQuery
	node, err := portNode(c)
	if err != nil {
		return q, err
	}
	portgroup, err := c.query.ident("portgroup")
	if err != nil {
		return q, err
	}
	address := c.query.text("address")
	if address != nil {
		mac, ok := normalMAC(*address)
		if !ok {
			return q, badRequest("Expected valid MAC address for address: %s", *address)
		}
		address = &mac
	}
	if err := c.query.gate(c.op); err != nil {
		return q, err
	}
	if node != nil && c.version < 5 && !isUUIDLike(*node) {
		return q, notAcceptable()
	}
	if q.Page, err = s.page(c, openapi.PortFields, isUUIDLike); err != nil {
		return q, err
	}
	if q.Project, err = c.rights.project(c.op, nil); err != nil {
		return q, err
	}
	if above.node != nil {
		node = above.node
	}
	if above.portgroup != nil {
		portgroup = above.portgroup
	}
	shards, _ := c.query.list("shard")
	groups, _ := c.query.list("conductor_groups")
	if exclusive(node != nil, portgroup != nil, len(shards) > 0) {
		return q, faultf(http.StatusForbidden, "Operation not permitted: node, portgroup and shard cannot be combined.")
	}
	q.DescriptionContains = c.query.text("description_contains")
	if len(groups) > 0 && (node != nil || portgroup != nil || address != nil) {
		return q, badRequest("Filtering by conductor_groups cannot be combined with node, portgroup, or address filters.")
	}
	switch {
	case portgroup != nil:
		g, err := s.store.Portgroup(c.Request().Context(), *portgroup)
		if err != nil {
			return q, err
		}
		q.PortgroupUUID = &g.UUID
	case node != nil:
		find := s.anyNode // of others' nodes, the list is empty
		if above.node != nil {
			find = s.node
		}
		n, err := find(c, *node)
		if err != nil {
			return q, err
		}
		q.NodeUUID = &n.UUID
	case address != nil:
		return store.PortQuery{
			Page: store.Page{Limit: q.Limit, SortKey: q.SortKey, Desc: q.Desc}, Addresses: []string{*address}, Project: q.Project,
		}, nil
	case len(shards) > 0:
		q.Shards = shards
	case len(groups) > 0:
		q.ConductorGroups = groups
	}
	return q, nil
}

func portNode(c *call) (*string, error) {
	byUUID, err := c.query.uuid("node_uuid")
	if err != nil || byUUID != nil {
		return byUUID, err
	}
	return c.query.ident("node")
}

func exclusive(given ...bool) bool {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	return n > 1
}

func (s *Service) answerPorts(c *call, collection string, q store.PortQuery, fields view, names []string) error {
	list, err := s.store.Ports(c.Request().Context(), q)
	if err != nil {
		return err
	}
	e := c.encoding()
	return c.send(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"ports":[`...)
		last := ""
		for i := range list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendPort(b, &list[i], fields, e)
			last = list[i].UUID
		}
		return appendNext(append(b, ']'), c, collection, q.Page, len(list), last, names)
	})
}

func (s *Service) getPort(c *call) error {
	p, err := s.port(c)
	if err != nil {
		return err
	}
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	fields := detailView(openapi.PortFields, c.version)
	if names, given := c.query.list("fields"); given {
		if fields, err = selectView(openapi.PortFields, c.version, names); err != nil {
			return err
		}
	}
	return s.answerPort(c, http.StatusOK, &p, fields)
}

// port finds the port that the path names, by UUID or name.
func (s *Service) port(c *call) (metal.Port, error) {
	ident := c.Param("port")
	if !isIdent(ident) {
		return metal.Port{}, badRequest("Expected UUID or name for port_ident: %s", ident)
	}
	p, err := s.store.Port(c.Request().Context(), ident)
	if err != nil {
		return p, err
	}
	return p, s.authorizePort(c, &p, ident)
}

func (s *Service) answerPort(c *call, status int, p *metal.Port, fields view) error {
	e := c.encoding()
	return c.send(status, func(b []byte) []byte { return appendPort(b, p, fields, e) })
}
