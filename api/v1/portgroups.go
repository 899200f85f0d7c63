package v1

import (
	"context"
	"net/http"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// portgroups is the resource of portgroups (Ironic: controllers/v1/portgroup).
var portgroups = newResource(resource[metal.Portgroup]{
	registry: openapi.PortgroupFields, noun: "portgroup", enum: true, path: "portgroups", key: "portgroups",
	required: []string{"node_uuid"}, listed: []string{"uuid", "address", "name"},
	uuid: portgroupUUID,
	fields: map[string]property[metal.Portgroup]{
		"uuid":          uuidProperty(func(p *metal.Portgroup) *string { return &p.UUID }),
		"node_uuid":     nodeProperty(func(p *metal.Portgroup) *string { return &p.NodeUUID }),
		"address":       macProperty("address", func(p *metal.Portgroup) **string { return &p.Address }),
		"name":          textProperty("name", 0, func(p *metal.Portgroup) **string { return &p.Name }),
		"mode":          textProperty("mode", 0, func(p *metal.Portgroup) **string { return &p.Mode }),
		"extra":         objectProperty("extra", func(p *metal.Portgroup) *metal.JSON { return &p.Extra }),
		"internal_info": objectProperty("internal_info", func(p *metal.Portgroup) *metal.JSON { return &p.InternalInfo }),
		"properties":    objectProperty("properties", func(p *metal.Portgroup) *metal.JSON { return &p.Properties }),
		"standalone_ports_supported": flagProperty("standalone_ports_supported", true,
			func(p *metal.Portgroup) *bool { return &p.StandalonePortsSupported }),
		"physical_network":  textProperty("physical_network", 64, func(p *metal.Portgroup) **string { return &p.PhysicalNetwork }),
		"category":          textProperty("category", 80, func(p *metal.Portgroup) **string { return &p.Category }),
		"dynamic_portgroup": flagProperty("dynamic_portgroup", false, func(p *metal.Portgroup) *bool { return &p.DynamicPortgroup }),
		"created_at":        timeProperty(func(p *metal.Portgroup) *time.Time { return &p.CreatedAt }),
		"updated_at":        optionalTimeProperty(func(p *metal.Portgroup) **time.Time { return &p.UpdatedAt }),
		"links":             linksProperty(portgroupUUID, "portgroups"),
		"ports":             linksProperty(portgroupUUID, "portgroups", "ports"),
	},
})

func portgroupUUID(p *metal.Portgroup) string { return p.UUID }

func (s *Service) listPortgroups(c *call) error { return s.portgroupList(c, "portgroups", false, nil) }

func (s *Service) listPortgroupsDetail(c *call) error {
	return s.portgroupList(c, "portgroups/detail", true, nil)
}

func (s *Service) listNodePortgroups(c *call) error {
	node := c.Param("node")
	return s.portgroupList(c, "nodes/"+node+"/portgroups", false, &node)
}

func (s *Service) listNodePortgroupsDetail(c *call) error {
	node := c.Param("node")
	return s.portgroupList(c, "nodes/"+node+"/portgroups/detail", true, &node)
}

func (s *Service) portgroupList(c *call, collection string, detailed bool, parent *string) error {
	q, node, err := portgroupFilters(c)
	if err != nil {
		return err
	}
	l, err := portgroups.list(s, c, collection, detailed)
	if err != nil {
		return err
	}
	if parent != nil {
		node = parent
	}
	if exclusive(node != nil, q.Address != nil, len(q.Shards) > 0, len(q.ConductorGroups) > 0) {
		return badRequest("Filtering by node, address, shard and conductor_groups simultaneously is not supported: give one of them.")
	}
	if node != nil {
		find := s.anyNode // of others' nodes, the list is empty
		if parent != nil {
			find = s.node
		}
		n, err := find(c, *node)
		if err != nil {
			return err
		}
		q.NodeUUID = &n.UUID
	}
	q.Page = l.page
	if q.Project, err = c.rights.project(c.op, nil); err != nil {
		return err
	}
	page, err := s.store.Portgroups(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return portgroups.answerList(c, l, page)
}

// portgroupFilters reads the filters that need no look at other objects.
func portgroupFilters(c *call) (q store.PortgroupQuery, node *string, err error) {
	if node, err = c.query.ident("node"); err != nil {
		return q, nil, err
	}
	if address := c.query.text("address"); address != nil {
		mac, ok := normalMAC(*address)
		if !ok {
			return q, nil, badRequest("Expected valid MAC address for address: %s", *address)
		}
		q.Address = &mac
	}
	if shards, _ := c.query.list("shard"); len(shards) > 0 {
		q.Shards = shards
	}
	if groups, _ := c.query.list("conductor_groups"); len(groups) > 0 {
		q.ConductorGroups = groups
	}
	return q, node, nil
}

// portgroup finds the portgroup that the path names, also by the name with the
// ".json" that was cut off.
func (s *Service) portgroup(c *call) (metal.Portgroup, error) {
	ident, err := c.ident("portgroup")
	if err != nil {
		f := asFault(err)
		f.Routed = true // Ironic looks at the name while it routes
		return metal.Portgroup{}, f
	}
	p, err := withSuffix(c, ident, s.store.Portgroup)
	if err != nil {
		return p, err
	}
	return p, s.authorizePart(c, p.NodeUUID, "Portgroup", ident)
}

func (s *Service) getPortgroup(c *call) error {
	p, err := s.portgroup(c)
	if err != nil {
		return err
	}
	return portgroups.answerOne(c, &p)
}

// createPortgroup adds a portgroup to a node.
func (s *Service) createPortgroup(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	p := &metal.Portgroup{StandalonePortsSupported: true}
	if err := portgroups.read(p, body); err != nil {
		return err
	}
	if p.Mode == nil {
		p.Mode = &s.config.Default.DefaultPortgroupMode
	}
	if err := s.checkPartNode(c, p.NodeUUID); err != nil {
		return err
	}
	if c.version < 26 && (truthy(body["mode"]) || truthy(body["properties"])) {
		return notAcceptable()
	}
	if err := checkLogicalName("create portgroup", p.Name); err != nil {
		return err
	}
	p.UUID = filledIn(p.UUID)
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertPortgroup(ctx, p)
	})
	if err != nil {
		return err
	}
	return portgroups.created(c, p)
}

// checkLogicalName refuses to do something with a name that no path can hold; ""
// is none.
func checkLogicalName(doing string, name *string) error {
	if name != nil && *name != "" && !isLogicalName(*name) {
		return badRequest("Cannot %s with invalid name '%s'", doing, *name)
	}
	return nil
}

// updatePortgroup applies a JSON patch to a portgroup.
func (s *Service) updatePortgroup(c *call) error {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return err
	}
	p, err := s.portgroup(c)
	if err != nil {
		return err
	}
	if c.version < 26 && (updates(ops, "mode") || updates(ops, "properties")) {
		return notAcceptable()
	}
	if err := checkRoots(ops, openapi.PortgroupFields); err != nil {
		return err
	}
	for _, op := range ops {
		if op.Op == "remove" && op.Path == "/mode" {
			return badRequest("'mode' is a mandatory attribute and can not be removed")
		}
	}
	err = s.changeNode(c.Request().Context(), p.NodeUUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		before, err := tx.PortgroupByUUID(ctx, p.UUID)
		if err != nil {
			return err
		}
		p = before
		u := &portgroupUpdate{service: s, call: c, tx: tx, ops: ops, node: n, before: before}
		return u.run(ctx, &p)
	})
	if err != nil {
		return err
	}
	return portgroups.answer(c, http.StatusOK, &p)
}

// deletePortgroup removes a portgroup that has no ports.
func (s *Service) deletePortgroup(c *call) error {
	p, err := s.portgroup(c)
	if err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), p.NodeUUID, func(ctx context.Context, tx *store.Tx, _ *metal.Node) error {
		members, err := tx.Ports(ctx, store.PortQuery{PortgroupUUID: &p.UUID, Page: store.Page{Limit: 1}})
		if err != nil {
			return err
		}
		if len(members) > 0 {
			return badRequest("Portgroup %s has ports and cannot be deleted: take them out of it first.", p.UUID)
		}
		return tx.DeletePortgroup(ctx, p.UUID)
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
