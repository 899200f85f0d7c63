package v1

import (
	"context"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
)

// runbookFinder finds the runbook that a provision request names, if the sender
// may use it.
type runbookFinder func(ident string) (metal.Runbook, error)

func (s *Service) runbookFinder(ctx context.Context, c *call) runbookFinder {
	return func(ident string) (metal.Runbook, error) {
		r, err := s.store.Runbook(ctx, ident)
		if err != nil {
			return r, err
		}
		return r, c.rights.authorize("baremetal:runbook:use", ofRunbook(&r))
	}
}

// takeRunbook puts the steps of the runbook that the request names in the place
// of its own (Ironic: NodeStatesController._handle_runbook).
func (p *provisionRequest) takeRunbook(n *metal.Node, v openapi.Version) error {
	if p.runbook == nil || *p.runbook == "" {
		return nil
	}
	if v < p.op.Arg("runbook").Min {
		return notAcceptable()
	}
	if !isIdent(*p.runbook) {
		return badRequest("Expected a logical name or UUID for runbook: %s", *p.runbook)
	}
	r, err := p.findRunbook(*p.runbook)
	if err != nil {
		return err
	}
	if err := approveRunbook(&r, n, v); err != nil {
		return err
	}
	steps := &p.cleanSteps
	switch {
	case p.known && p.verb.Verb == metal.VerbClean:
	case p.known && p.verb.Verb == metal.VerbService:
		steps = &p.serviceSteps
	default:
		steps = nil
	}
	if steps != nil {
		if len(*steps) > 0 {
			return badRequest("Please provide either %q or a runbook, but not both.", string(p.verb.Verb)+"_steps")
		}
		*steps, p.stepsOf = stepList(r.Steps), r.UUID
	}
	p.disableRamdisk = &r.DisableRamdisk
	return nil
}

// approveRunbook holds a runbook to the node's traits: from 1.112 on one of its
// own must be among them, before its name.
func approveRunbook(r *metal.Runbook, n *metal.Node, v openapi.Version) error {
	if v < runbookSince {
		if slices.Contains(n.Traits, r.Name) {
			return nil
		}
		return badRequest("This runbook has not been approved for use on this node %s. Please ask an administrator to add it to your node traits.", n.UUID)
	}
	if len(r.Traits) == 0 {
		return badRequest("Runbook %s has no traits configured. Please ask an administrator to add traits to the runbook.", r.UUID)
	}
	for _, trait := range r.Traits {
		if slices.Contains(n.Traits, trait) {
			return nil
		}
	}
	return badRequest("This runbook has not been approved for use on this node %s. The node does not have any of the runbook's traits %s. Please ask an administrator to add a matching trait to your node.",
		n.UUID, strings.Join(r.Traits, ", "))
}

// authorizeRunbookSteps asks whether the sender may have these steps executed
// at all; on which nodes shows later.
func (c *call) authorizeRunbookSteps(steps metal.JSON) error {
	if !c.rights.enforced {
		return nil
	}
	for _, item := range stepList(steps) {
		step, _ := item.(map[string]any)
		on, _ := step["interface"].(string)
		what, _ := step["step"].(string)
		if name := stepPolicy + on + "." + what; c.rights.policy.Has(name) {
			if err := c.rights.authorize(name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}
