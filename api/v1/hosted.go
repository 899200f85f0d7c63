package v1

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// agentList reads the agents of a site: the store, or a transaction.
type agentList interface {
	AgentsOf(ctx context.Context, site string) ([]store.Agent, error)
}

// hosted is what the agents that serve the node can do, as each last said, on
// line or not. nil is all: this process serves the node itself, or no agent has
// joined that serves its hardware type.
func hosted(ctx context.Context, from agentList, n *metal.Node) (hardware.Hosted, error) {
	if hardware.HostOf(n.Driver) == hardware.HostedHere {
		return nil, nil
	}
	agents, err := from.AgentsOf(ctx, n.ConductorGroup)
	if err != nil {
		return nil, err
	}
	var all hardware.Hosted
	for _, a := range agents {
		if !slices.Contains(a.HardwareTypes, n.Driver) {
			continue
		}
		var operations map[string][]metal.Operation
		if err := a.Operations.Decode(&operations); err != nil {
			return nil, fmt.Errorf("read what agent %s can do: %w", a.ID, err)
		}
		if all == nil {
			all = hardware.Hosted{}
		}
		all.Add(operations)
	}
	return all, nil
}

// checkHosted refuses a verb that needs what no agent of the site can do. args
// are the operation's, with the steps of the request, a runbook and templates.
func (v *verb) checkHosted(ctx context.Context, args metal.JSON) error {
	m := v.service.machine(v.node)
	var err error
	if m.Hosted, err = hosted(ctx, v.tx, v.node); err != nil || m.Hosted == nil {
		return err
	}
	var asked struct {
		Clean    []metal.Step `json:"clean_steps"`
		Service  []metal.Step `json:"service_steps"`
		Deploy   []metal.Step `json:"deploy_steps"`
		Template []metal.Step `json:"template_steps"`
	}
	if err := args.Decode(&asked); err != nil {
		return fmt.Errorf("read the steps of a request: %w", err)
	}
	// A user's step wins over a template's.
	deploy, more := metal.Overridden(asked.Template, asked.Deploy)
	info := v.request.verb
	if conf := v.service.config.Conductor; info.AutomatedClean {
		info.AutomatedClean = v.node.CleansItself(conf.AutomatedClean)
		more = configuredSteps(conf.CleanStepPriorityOverride)
	}
	return m.CheckHosted(info, slices.Concat(asked.Clean, asked.Service, deploy, more))
}

// configuredSteps are the steps of [conductor]clean_step_priority_override.
func configuredSteps(priorities map[string]string) []metal.Step {
	var steps []metal.Step
	for name, text := range priorities {
		on, step, _ := strings.Cut(name, ".")
		if priority, err := strconv.Atoi(text); err == nil {
			steps = append(steps, metal.Step{Interface: on, Step: step, Priority: priority})
		}
	}
	return steps
}
