package v1

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"ferrule/api/policy"
	"ferrule/metal"
	"ferrule/metal/pytext"
	"ferrule/openapi"
	"ferrule/store"
)

// allocations is the resource of allocations (Ironic:
// controllers/v1/allocation).
var allocations = newResource(resource[metal.Allocation]{
	registry: openapi.AllocationFields, noun: "allocation", enum: true, newer: true, path: "allocations", key: "allocations",
	uuid: allocationUUID, unknown: true,
	fields: map[string]property[metal.Allocation]{
		"uuid":            uuidProperty(func(a *metal.Allocation) *string { return &a.UUID }),
		"name":            textProperty("name", 0, func(a *metal.Allocation) **string { return &a.Name }),
		"resource_class":  textProperty("resource_class", 80, func(a *metal.Allocation) **string { return &a.ResourceClass }),
		"node_uuid":       {show: func(b []byte, a *metal.Allocation, _ *encoding) []byte { return appendNullable(b, a.NodeUUID) }},
		"candidate_nodes": candidatesProperty(),
		"traits":          allocationTraits(),
		"extra":           objectProperty("extra", func(a *metal.Allocation) *metal.JSON { return &a.Extra }),
		"state":           {show: func(b []byte, a *metal.Allocation, _ *encoding) []byte { return appendString(b, string(a.State)) }},
		"last_error":      {show: func(b []byte, a *metal.Allocation, _ *encoding) []byte { return appendNullable(b, a.LastError) }},
		"owner":           textProperty("owner", 0, func(a *metal.Allocation) **string { return &a.Owner }),
		"created_at":      timeProperty(func(a *metal.Allocation) *time.Time { return &a.CreatedAt }),
		"updated_at":      optionalTimeProperty(func(a *metal.Allocation) **time.Time { return &a.UpdatedAt }),
		"links":           linksProperty(allocationUUID, "allocations"),
	},
})

func allocationUUID(a *metal.Allocation) string { return a.UUID }

func candidatesProperty() property[metal.Allocation] {
	return property[metal.Allocation]{
		show: func(b []byte, a *metal.Allocation, _ *encoding) []byte { return appendStrings(b, a.CandidateNodes) },
		set: func(a *metal.Allocation, value any) error {
			items, ok := value.([]any)
			if !ok && value != nil {
				return wrongType(value, "array", "null")
			}
			a.CandidateNodes = nil
			for _, item := range items {
				ident, ok := item.(string)
				if !ok {
					return noAlternative(item, wrongType(item, "string"))
				}
				if !isIdent(ident) {
					return noAlternative(item, violates("%s is not a 'uuid'", shown(item)))
				}
				a.CandidateNodes = append(a.CandidateNodes, ident)
			}
			return nil
		},
	}
}

func allocationTraits() property[metal.Allocation] {
	return property[metal.Allocation]{
		show: func(b []byte, a *metal.Allocation, _ *encoding) []byte { return appendStrings(b, a.Traits) },
		set: func(a *metal.Allocation, value any) (err error) {
			a.Traits = nil
			if value != nil {
				a.Traits, err = traitList(value, "array", "null")
			}
			return err
		},
	}
}

// ofAllocation names an allocation by its owner.
func ofAllocation(a *metal.Allocation) policy.Values {
	return policy.Values{"allocation.owner": textOrNil(a.Owner)}
}

// allocation finds the allocation that the path names. One that the sender may
// not see is as if it were not there.
func (s *Service) allocation(c *call) (metal.Allocation, error) {
	ident := c.Param("allocation")
	if strings.Contains(ident, "/") {
		return metal.Allocation{}, badRequest("Malformed request URI.")
	}
	a, err := withSuffix(c, ident, s.store.Allocation)
	if err != nil {
		return a, err
	}
	about := ofAllocation(&a)
	if err := c.rights.conceal("baremetal:allocation:get", about, notFound("Allocation %s could not be found.", ident)); err != nil {
		return a, err
	}
	return a, c.rights.authorize(c.op.Policies[0], about)
}

func (s *Service) listAllocations(c *call) error {
	if _, err := c.query.ident("node"); err != nil {
		return err
	}
	l, err := allocations.list(s, c, allocations.path, false)
	if err != nil {
		return err
	}
	q := store.AllocationQuery{Page: l.page, ResourceClass: c.query.text("resource_class"), State: c.query.text("state")}
	if q.Owner, err = c.rights.project(c.op, c.query.text("owner")); err != nil {
		return err
	}
	if ident := c.query.text("node"); ident != nil {
		n, err := s.node(c, *ident)
		if err != nil {
			return asMissingReference(err)
		}
		q.NodeUUID = &n.UUID
	}
	page, err := s.store.Allocations(c.Request().Context(), q)
	if err != nil {
		return err
	}
	for i := range page {
		if err := c.rights.authorize("baremetal:allocation:get", ofAllocation(&page[i])); err != nil {
			return err
		}
	}
	return allocations.answerList(c, l, page)
}

func (s *Service) getAllocation(c *call) error {
	a, err := s.allocation(c)
	if err != nil {
		return err
	}
	return allocations.answerOne(c, &a)
}

func (s *Service) updateAllocation(c *call) error {
	a, err := s.allocation(c)
	if err != nil {
		return err
	}
	ops, err := parseFreePatch(c.raw)
	if err != nil {
		return err
	}
	for _, op := range ops {
		switch v := op.Value.(type) {
		case []any:
			return wrongType(v, "string", "object", "null", "integer", "boolean")
		case interface{ Float64() (float64, error) }:
			if _, err := wholeNumber(v); err != nil {
				return err
			}
		}
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if a, err = tx.Allocation(ctx, a.UUID); err != nil {
			return err
		}
		for _, name := range patchValues(ops, "/name") {
			if text, ok := name.(string); truthy(name) && (!ok || !isLogicalName(text)) {
				return badRequest("Cannot update allocation with invalid name '%s'", pytext.Str(name))
			}
		}
		if err := allocations.patch(&a, ops); err != nil {
			return err
		}
		return tx.UpdateAllocation(ctx, &a)
	})
	if err != nil {
		return err
	}
	return allocations.answer(c, http.StatusOK, &a)
}

func (s *Service) deleteAllocation(c *call) error {
	a, err := s.allocation(c)
	if err != nil {
		return err
	}
	return s.endAllocation(c, &a)
}

// endAllocation removes an allocation and frees the node that it has.
func (s *Service) endAllocation(c *call, a *metal.Allocation) error {
	ctx := c.Request().Context()
	var err error
	if a.NodeUUID == nil {
		err = s.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteAllocation(ctx, a.UUID) })
	} else {
		err = s.changeNode(ctx, *a.NodeUUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
			if err := checkDeallocation(n, a.UUID); err != nil {
				return err
			}
			if err := tx.DeleteAllocation(ctx, a.UUID); err != nil {
				return err
			}
			if n.AllocationUUID == nil || *n.AllocationUUID != a.UUID {
				return nil
			}
			n.AllocationUUID, n.InstanceUUID = nil, nil
			return tx.UpdateNode(ctx, n, "allocation_uuid", "instance_uuid")
		})
	}
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// checkDeallocation keeps a node that is in use from being taken out of its
// allocation (Ironic: verify_node_for_deallocation).
func checkDeallocation(n *metal.Node, allocation string) error {
	if n.Maintenance {
		return nil
	}
	info, _ := n.ProvisionState.Info()
	if n.TargetProvisionState != metal.NoState && !info.UpdateAllowed {
		return conflict("Cannot remove allocation %s for node %s, because the node is in state %s where updates are not allowed (and maintenance mode is off)",
			allocation, n.UUID, n.ProvisionState)
	}
	if n.ProvisionState == metal.Active {
		return conflict("Cannot remove allocation %s for node %s, because the node is active (and maintenance mode is off)", allocation, n.UUID)
	}
	return nil
}

// nodeAllocation finds the allocation that the node of the path is given to.
func (s *Service) nodeAllocation(c *call) (metal.Allocation, error) {
	n, err := s.nodeWithSuffix(c, c.Param("node"))
	if err != nil {
		return metal.Allocation{}, err
	}
	a, err := s.store.AllocationOf(c.Request().Context(), n.UUID)
	if err != nil {
		return a, err
	}
	return a, c.rights.authorize(c.op.Policies[0], ofAllocation(&a))
}

func (s *Service) getNodeAllocation(c *call) error {
	if _, err := s.nodeWithSuffix(c, c.Param("node")); err != nil {
		if _, missing := s.anyNode(c, c.Param("node")); missing == nil {
			return err // it is there, and not for the sender to see
		}
		return asMissingReference(err)
	}
	a, err := s.nodeAllocation(c)
	if err != nil {
		return err
	}
	names, given := c.query.list("fields")
	if !given {
		return allocations.answerOne(c, &a)
	}
	// Unlike elsewhere, what is newer than the version is not refused.
	fields, err := selectView(openapi.AllocationFields, openapi.MaxVersion, names)
	if err != nil {
		return err
	}
	fields = slices.DeleteFunc(fields, func(i int) bool { return !openapi.AllocationFields.Fields[i].VisibleAt(c.version) })
	return allocations.answerIn(c, http.StatusOK, &a, fields)
}

func (s *Service) deleteNodeAllocation(c *call) error {
	a, err := s.nodeAllocation(c)
	if err != nil {
		return err
	}
	return s.endAllocation(c, &a)
}

// checkAllocation are the rules of a node that is given to an allocation: it
// keeps its owner, and with the instance the allocation goes.
func (u *nodeUpdate) checkAllocation(ctx context.Context, n *metal.Node) error {
	if n.AllocationUUID == nil {
		return nil
	}
	a, err := u.tx.Allocation(ctx, *n.AllocationUUID)
	if metal.ReasonOf(err) == metal.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if a.Owner != nil && len(patchValues(u.ops, "/owner")) > 0 {
		return conflict("Cannot update owner of node %q while it is allocated to an allocation with an owner.", n.UUID)
	}
	if n.InstanceUUID != nil {
		return nil
	}
	if !n.Maintenance && !n.ProvisionState.Is(updatable...) {
		return conflict("Node %s with an allocation can not have instance_uuid removed unless it is in one of allowed (%s) states or in maintenance mode. Current state is '%s'.",
			n.UUID, stateNames(updatable), n.ProvisionState)
	}
	n.AllocationUUID = nil
	return u.tx.DeleteAllocation(ctx, a.UUID)
}
