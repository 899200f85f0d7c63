package v1

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// listNodes lists nodes: the short view, one of fields=, or the detailed one.
func (s *Service) listNodes(c *call) error { return s.listNodesIn(c, "nodes") }

func (s *Service) listNodesIn(c *call, collection string) error {
	if err := s.checkNodeFilters(c); err != nil {
		return err
	}
	fields, err := listMode(c, openapi.NodeFields)
	if err != nil {
		return err
	}
	names := nextFields(c, "instance_uuid", "maintenance", "power_state", "provision_state", "uuid", "name")
	return s.answerNodes(c, collection, fields, names)
}

func (s *Service) listNodesDetail(c *call) error { return s.listNodesDetailIn(c, "nodes/detail") }

func (s *Service) listNodesDetailIn(c *call, collection string) error {
	if err := s.checkNodeFilters(c); err != nil {
		return err
	}
	return s.answerNodes(c, collection, detailView(openapi.NodeFields, c.version), nil)
}

// checkNodeFilters refuses filters that are too new and values that no node can
// have.
func (s *Service) checkNodeFilters(c *call) error {
	for _, name := range []string{"chassis_uuid", "instance_uuid"} {
		if _, err := c.query.uuid(name); err != nil {
			return err
		}
	}
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	if state := c.query.text("provision_state"); state != nil {
		if _, ok := metal.State(*state).Info(); !ok {
			return badRequest("Provision state %q is not valid", *state)
		}
	}
	if fault := c.query.text("fault"); fault != nil {
		faults := []string{metal.FaultPower, metal.FaultClean, metal.FaultRescueAbort, metal.FaultService}
		if !slices.Contains(faults, *fault) {
			return badRequest("Unrecognized fault %q is specified, allowed faults are ('%s')", *fault, strings.Join(faults, "', '"))
		}
	}
	return s.checkChassisFilter(c)
}

func (s *Service) nodeQuery(c *call) (store.NodeQuery, error) {
	page, err := s.page(c, openapi.NodeFields, isUUIDLike)
	if err != nil {
		return store.NodeQuery{}, err
	}
	q := store.NodeQuery{
		Page:        page,
		ChassisUUID: c.query.text("chassis_uuid"), InstanceUUID: c.query.text("instance_uuid"), InstanceName: c.query.text("instance_name"),
		Associated: c.query.boolean("associated"), Maintenance: c.query.boolean("maintenance"), Retired: c.query.boolean("retired"),
		Driver: c.query.text("driver"), ResourceClass: c.query.text("resource_class"), Fault: c.query.text("fault"),
		Owner: c.query.text("owner"), Lessee: c.query.text("lessee"), Project: c.query.text("project"),
		Sharded: c.query.boolean("sharded"), ParentNode: c.query.text("parent_node"), IncludeChildren: c.query.flag("include_children"),
	}
	if state := c.query.text("provision_state"); state != nil {
		q.States = []metal.State{metal.State(*state)}
	}
	if group := c.query.text("conductor_group"); group != nil {
		q.ConductorGroups = []string{strings.ToLower(*group)}
	}
	if shards, given := c.query.list("shard"); given {
		q.Shards = shards
	}
	q.DescriptionContains = c.query.text("description_contains")
	return q, nil
}

func (s *Service) answerNodes(c *call, collection string, fields view, names []string) error {
	q, err := s.nodeQuery(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	e, err := s.encoding(c, slices.Contains(fields, openapi.NodeConductor))
	if err != nil {
		return err
	}
	if q.Project, err = c.rights.project(c.op, q.Project); err != nil {
		return err
	}
	q.Columns = nodeColumns(fields)
	list, err := s.findNodes(ctx, q, c.query.text("conductor"))
	if err != nil {
		return err
	}
	limit := q.Page
	if q.InstanceUUID != nil {
		limit.Limit = 0 // one node at most has the instance: there is no next page
	}
	return c.send(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"nodes":[`...)
		last := ""
		for i := range list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNode(b, &list[i], fields, e)
			last = list[i].UUID
		}
		return appendNext(append(b, ']'), c, collection, limit, len(list), last, names)
	})
}

// findNodes reads one page. The conductor of a node is no column: with that
// filter, pages of its group are read on until one is full.
func (s *Service) findNodes(ctx context.Context, q store.NodeQuery, conductor *string) ([]metal.Node, error) {
	if conductor == nil {
		return s.store.Nodes(ctx, q)
	}
	cs, err := s.liveConductors(ctx)
	if err != nil {
		return nil, err
	}
	group, alive := cs.groupOf(*conductor)
	if !alive || q.ConductorGroups != nil && !slices.Contains(q.ConductorGroups, group) {
		return nil, nil
	}
	q.ConductorGroups = []string{group}
	var found []metal.Node
	for {
		list, err := s.store.Nodes(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if cs.serving(&list[i]) == *conductor && int64(len(found)) < q.Limit {
				found = append(found, list[i])
			}
		}
		if int64(len(list)) < q.Limit || int64(len(found)) >= q.Limit {
			return found, nil
		}
		q.Marker = list[len(list)-1].UUID
	}
}

// nodeColumns are the columns that a view reads: its own fields, and what
// computed ones and filters look at.
func nodeColumns(fields view) []string {
	columns := []string{"uuid", "driver", "conductor_group", "owner", "lessee"}
	for _, i := range fields {
		switch i {
		case openapi.NodeUUID, openapi.NodeDriver, openapi.NodeConductorGroup, openapi.NodeConductor, openapi.NodeOwner, openapi.NodeLessee,
			openapi.NodeLinks, openapi.NodePorts, openapi.NodeStates, openapi.NodePortgroups, openapi.NodeVolume:
		default:
			columns = append(columns, openapi.NodeFields.Fields[i].Name)
		}
	}
	return columns
}
