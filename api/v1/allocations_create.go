package v1

import (
	"context"
	"slices"
	"strings"
	"time"

	"ferrule/metal"
	"ferrule/store"
)

// createAllocation stores the wish for a node and, in the same transaction,
// finds it: clients that poll find it done. The answer shows it as it was when
// it came, which is how clients know it (Ironic: AllocationsController.post).
func (s *Service) createAllocation(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	a, err := s.newAllocation(c, body)
	if err != nil {
		return err
	}
	if ident, _ := body["node"].(string); ident != "" {
		return s.backfill(c, a, ident)
	}
	if value(a.ResourceClass) == "" {
		return badRequest("The resource_class field is mandatory when not backfilling")
	}
	if err := s.findCandidates(c, a); err != nil {
		return err
	}
	a.UUID = filledIn(a.UUID)
	a.State, a.CreatedAt = metal.Allocating, s.now()
	asked := *a
	if err := s.place(c.Request().Context(), a); err != nil {
		return err
	}
	return allocations.created(c, &asked)
}

// newAllocation is the allocation that the body describes.
func (s *Service) newAllocation(c *call, body map[string]any) (*metal.Allocation, error) {
	if c.version < 58 && has(body, "node") {
		return nil, unexpected("node")
	}
	if _, ok := body["node"].(string); !ok && body["node"] != nil {
		return nil, wrongType(body["node"], "string", "null")
	}
	a := &metal.Allocation{}
	if err := allocations.read(a, body); err != nil {
		return nil, err
	}
	if c.version < 60 && has(body, "owner") {
		return nil, notAcceptable()
	}
	if err := c.rights.takeAllocation(a); err != nil {
		return nil, err
	}
	return a, checkLogicalName("create allocation", a.Name)
}

// takeAllocation decides whose an allocation is: that of the sender's project,
// unless it may make them for others.
func (r *rights) takeAllocation(a *metal.Allocation) error {
	own, foreign := r.who.ProjectID, filled(a.Owner) && *a.Owner != r.who.ProjectID
	if err := r.authorize("baremetal:allocation:create", nil); err != nil {
		if own != "" && foreign {
			return err
		}
		if err := r.authorize("baremetal:allocation:create_restricted", nil); err != nil {
			return err
		}
		a.Owner = &own
	}
	if r.who.SystemScope == "all" {
		return nil
	}
	if !filled(a.Owner) {
		a.Owner = nil
		if own != "" {
			a.Owner = &own
		}
		return nil
	}
	if foreign {
		return r.authorize("baremetal:allocation:create_restricted", nil)
	}
	return nil
}

// findCandidates turns names among the candidates into UUIDs.
func (s *Service) findCandidates(c *call, a *metal.Allocation) error {
	if len(a.CandidateNodes) == 0 {
		return nil
	}
	var project *string
	if !c.rights.allows("baremetal:allocation:create_restricted", nil) {
		project = &c.rights.who.ProjectID
	}
	found, err := s.store.NodeUUIDs(c.Request().Context(), a.CandidateNodes, project)
	if err != nil {
		return err
	}
	var missing []string
	for i, ident := range a.CandidateNodes {
		uuid, ok := found[ident]
		if !ok {
			missing = append(missing, ident)
		}
		a.CandidateNodes[i] = uuid
	}
	if missing != nil {
		return badRequest("Nodes cannot be found: %s", strings.Join(missing, ", "))
	}
	return nil
}

// place finds a node for a and stores both. Nodes that somebody works on are
// waited for a little; what then has no node is stored as an error.
func (s *Service) place(ctx context.Context, a *metal.Allocation) error {
	p := &placing{service: s, given: *a, start: newUUID(), last: isLastTry(ctx)}
	err := p.try(ctx, a)
	if metal.ReasonOf(err) != metal.Locked || store.InUnit(ctx) { // who began the unit waits
		return err
	}
	patience, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for {
		select {
		case <-patience.Done():
			p.last = true
			return p.try(ctx, a)
		case <-tick.C:
		}
		if uuid, again := s.store.FreeNode(ctx, p.fit(), p.start); again != nil || uuid == "" {
			continue
		}
		if err = p.try(ctx, a); metal.ReasonOf(err) != metal.Locked {
			return err
		}
	}
}

// placing is the search for the node of one allocation.
type placing struct {
	service *Service
	given   metal.Allocation
	start   string // where the search begins, so that many at a time look at different nodes
	last    bool   // whether what is locked now is out of reach
}

func (p *placing) fit() store.Fit {
	unreserved, a := false, &p.given
	return store.Fit{
		ResourceClass: a.ResourceClass, Candidates: a.CandidateNodes, Owner: a.Owner, Traits: a.Traits, Reserved: &unreserved,
	}
}

func (p *placing) try(ctx context.Context, a *metal.Allocation) error {
	return p.service.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		*a = p.given
		uuid, err := p.choose(ctx, tx)
		if err == nil {
			err = p.service.give(ctx, tx, a, uuid)
		}
		reason := metal.ReasonOf(err)
		if reason == metal.Unavailable || reason == metal.Locked && p.last {
			text, now := err.Error(), p.service.now()
			a.State, a.LastError, a.UpdatedAt = metal.AllocationError, &text, &now
			return tx.InsertAllocation(ctx, a)
		}
		return err
	})
}

// choose finds a free node that fits: one that has the allocation's name, if
// there is one, else any.
func (p *placing) choose(ctx context.Context, tx *store.Tx) (string, error) {
	fit := p.fit()
	if p.given.Name != nil {
		named := fit
		named.Name = p.given.Name
		if uuid, err := tx.FreeNode(ctx, named, p.start); err != nil || uuid != "" {
			return uuid, err
		}
	}
	uuid, err := tx.FreeNode(ctx, fit, p.start)
	if err != nil || uuid != "" {
		return uuid, err
	}
	return "", whyNone(ctx, tx, &p.given, fit)
}

// whyNone says what no node had.
func whyNone(ctx context.Context, tx *store.Tx, a *metal.Allocation, fit store.Fit) error {
	const failed = "Failed to process allocation %s: "
	fit.Reserved = nil
	locked, err := tx.FreeNodes(ctx, fit)
	if err != nil {
		return err
	}
	if locked > 0 {
		return metal.Errorf(metal.Locked, failed+"could not reserve any of %d suitable nodes.", a.UUID, locked)
	}
	fit.Traits = nil
	others, err := tx.FreeNodes(ctx, fit)
	switch {
	case err != nil:
		return err
	case others > 0:
		return metal.Errorf(metal.Unavailable, failed+"no suitable nodes have the requested traits %s.", a.UUID, strings.Join(a.Traits, ", "))
	case len(a.CandidateNodes) > 0:
		return metal.Errorf(metal.Unavailable, failed+"none of the requested nodes are available and match the resource class %s.",
			a.UUID, value(a.ResourceClass))
	}
	return metal.Errorf(metal.Unavailable, failed+"no available nodes match the resource class %s.", a.UUID, value(a.ResourceClass))
}

// give ties the node to the allocation. Who else wanted it came first or comes
// too late: then the node is locked, as far as this allocation is concerned.
func (s *Service) give(ctx context.Context, tx *store.Tx, a *metal.Allocation, uuid string) error {
	n, err := tx.LockNode(ctx, uuid)
	if err != nil {
		return err
	}
	if n.InstanceUUID != nil || n.Reservation != nil || n.Maintenance || n.ProvisionState != metal.Available {
		return metal.Errorf(metal.Locked, "Node %s was taken meanwhile.", n.UUID)
	}
	return s.tie(ctx, tx, a, n)
}

// tie stores the allocation as active and notes it on the node (Ironic:
// dbapi.update_allocation).
func (s *Service) tie(ctx context.Context, tx *store.Tx, a *metal.Allocation, n *metal.Node) error {
	now := s.now()
	a.State, a.NodeUUID, a.UpdatedAt = metal.AllocationActive, &n.UUID, &now
	if err := tx.InsertAllocation(ctx, a); err != nil {
		return err
	}
	traits := a.Traits
	if traits == nil {
		traits = []string{}
	}
	n.AllocationUUID, n.InstanceUUID = &a.UUID, &a.UUID
	n.InstanceInfo = n.InstanceInfo.With("traits", traits)
	return tx.UpdateNode(ctx, n, "allocation_uuid", "instance_uuid", "instance_info")
}

// backfill makes an allocation for a node that is in use already (Ironic:
// conductor/allocations.backfill_allocation). Where it cannot, nothing is stored.
func (s *Service) backfill(c *call, a *metal.Allocation, ident string) error {
	found, err := s.node(c, ident)
	if err != nil {
		return asMissingReference(err)
	}
	if err := s.findCandidates(c, a); err != nil {
		return err
	}
	given := *a
	err = s.changeNode(c.Request().Context(), found.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		*a = given
		if value(a.ResourceClass) == "" {
			a.ResourceClass = n.ResourceClass
		}
		if a.UUID == "" {
			a.UUID = filledIn(value(n.InstanceUUID))
		}
		a.CreatedAt = s.now()
		if n.InstanceUUID != nil && *n.InstanceUUID != a.UUID {
			return conflict("Node %s is associated with instance %s.", n.UUID, *n.InstanceUUID)
		}
		if err := checkBackfill(a, n); err != nil {
			return err
		}
		return s.tie(ctx, tx, a, n)
	})
	if err != nil {
		return err
	}
	return allocations.created(c, a)
}

func checkBackfill(a *metal.Allocation, n *metal.Node) error {
	var wrong []string
	if n.ProvisionState != metal.Active {
		wrong = append(wrong, `node must be in the "active" state, but the current state is "`+string(n.ProvisionState)+`"`)
	}
	if value(a.ResourceClass) != "" && !sameText(a.ResourceClass, n.ResourceClass) {
		wrong = append(wrong, "resource class "+orNone(n.ResourceClass)+" does not match the requested resource class "+*a.ResourceClass)
	}
	for _, trait := range a.Traits {
		if !slices.Contains(n.Traits, trait) {
			wrong = append(wrong, "the node does not have the requested trait "+trait)
		}
	}
	if len(a.CandidateNodes) > 0 && !slices.Contains(a.CandidateNodes, n.UUID) {
		wrong = append(wrong, "candidate nodes must be empty or contain the target node")
	}
	if wrong != nil {
		return badRequest("Cannot backfill an allocation for node %s: %s", n.UUID, strings.Join(wrong, "; "))
	}
	return nil
}
