package runner

import (
	"errors"
	"fmt"
	"slices"

	"ferrule/metal"
)

// deployTasks put an instance on the node. Ironic: conductor/deployments.do_node_deploy.
func (r *run) deployTasks() ([]task, error) {
	if err := r.deploySteps(); err != nil {
		return nil, err
	}
	m := r.machine()
	row := m.Row(metal.DeployInterface).Deploy
	if row.Prepare != nil {
		row.Prepare(r.node)
	}
	tasks := append(slices.Clone(row.Begin), stepsTasks()...)
	return append(append(tasks, m.Console(true)...), finishWith(metal.EventDone)), nil
}

// deploySteps makes the list as far as it is known before the ramdisk has told
// its steps: a user's step wins over a template's, and both over the driver's.
// What no driver offers waits for the ramdisk, or is passed over where none is
// booted, as Ironic does.
func (r *run) deploySteps() error {
	var args struct {
		User     []metal.Step `json:"deploy_steps"`
		Template []metal.Step `json:"template_steps"`
	}
	if err := r.op.Args.Decode(&args); err != nil {
		return fmt.Errorf("read the deploy steps: %w", err)
	}
	wanted, more := metal.Overridden(args.Template, args.User)
	wanted = append(wanted, more...)
	steps, rest := metal.Overridden(r.driverSteps(metal.DeploySteps), wanted)
	r.plan.Steps = r.ordered(without(steps, r.Settings.ForbiddenDeploySteps))
	r.plan.Asked = without(rest, r.Settings.ForbiddenDeploySteps)
	if len(r.plan.Steps) == 0 {
		return errors.New("no deploy step is left to run")
	}
	return nil
}

// mergeDeploySteps puts the ramdisk's steps behind the one under way, by
// priority. A deployment keeps its own steps where both have one.
func (r *run) mergeDeploySteps(inBand []metal.Step) error {
	own := r.driverSteps(metal.DeploySteps)
	inBand = slices.DeleteFunc(inBand, func(s metal.Step) bool { _, ok := findStep(own, s); return ok })
	inBand, unknown := metal.Overridden(inBand, r.plan.Asked)
	r.plan.Asked = nil
	for _, s := range unknown {
		if s.Priority > 0 {
			return fmt.Errorf("neither the node's drivers nor its ramdisk offer the deploy step %s", s.Name())
		}
	}
	for _, s := range inBand {
		if err := s.CheckArgs(s.Args); err != nil {
			return err
		}
	}
	tail := append(slices.Clone(r.plan.Steps[r.plan.Index+1:]), without(inBand, r.Settings.ForbiddenDeploySteps)...)
	r.plan.Steps = append(slices.Clone(r.plan.Steps[:r.plan.Index+1]), r.ordered(tail)...)
	return nil
}
