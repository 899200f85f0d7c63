package runner

import (
	"fmt"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

// automatedCleanTasks clean a node between two tenants, where that is wanted.
// Ironic: conductor/cleaning.do_node_clean.
func (r *run) automatedCleanTasks() []task {
	if !r.node.CleansItself(r.Settings.AutomatedClean) {
		return []task{finishWith(metal.EventDone)}
	}
	if !r.machine().UsesRamdisk() {
		tasks := append([]task{{Do: hardware.TaskDriverSteps, Args: metal.ToJSON(metal.CleanSteps)}}, stepsTasks()...)
		return append(tasks, finishWith(metal.EventDone))
	}
	tasks := r.machine().EnterRamdisk(metal.CleanSteps)
	tasks = append(tasks, stepsTasks()...)
	tasks = append(tasks, hardware.SetPower(metal.PowerOff))
	tasks = append(append(tasks, r.machine().LeaveMedia()...), r.machine().Refresh()...)
	return append(tasks, finishWith(metal.EventDone))
}

// manualCleanTasks run the steps that the request names, in its order.
func (r *run) manualCleanTasks() ([]task, error) {
	ramdisk, err := r.chooseSteps(metal.CleanSteps)
	if err != nil {
		return nil, err
	}
	if !ramdisk {
		return append(stepsTasks(), finishWith(metal.EventManage)), nil
	}
	tasks := append(r.machine().EnterRamdisk(metal.CleanSteps), stepsTasks()...)
	tasks = append(tasks, hardware.SetPower(metal.PowerOff))
	tasks = append(append(tasks, r.machine().LeaveMedia()...), r.machine().Refresh()...)
	return append(tasks, finishWith(metal.EventManage)), nil
}

// chooseSteps reads the steps that the request names and tells whether they
// need a ramdisk: those that no driver offers are the ramdisk's, or nobody's.
func (r *run) chooseSteps(kind metal.StepKind) (ramdisk bool, err error) {
	var args struct {
		Clean          []metal.Step `json:"clean_steps"`
		Service        []metal.Step `json:"service_steps"`
		DisableRamdisk bool         `json:"disable_ramdisk"`
	}
	if err := r.op.Args.Decode(&args); err != nil {
		return false, fmt.Errorf("read the %s steps: %w", kind, err)
	}
	steps, unknown, err := asked(r.driverSteps(kind), append(args.Clean, args.Service...))
	if err != nil {
		return false, err
	}
	r.plan.Steps = steps
	if args.DisableRamdisk {
		for _, s := range steps {
			if s.RequiresRamdisk {
				unknown = append(unknown, s.Name())
			}
		}
	}
	if len(unknown) > 0 && (args.DisableRamdisk || !r.machine().UsesRamdisk()) {
		return false, fmt.Errorf("steps that need a ramdisk were asked for, and none is booted: %s", strings.Join(unknown, ", "))
	}
	return len(unknown) > 0, nil
}

// stepsTasks walk along the list of steps.
func stepsTasks() []task {
	return []task{{Do: hardware.TaskFlowStart}, {Do: hardware.TaskSteps}, {Do: hardware.TaskFlowEnd}}
}
