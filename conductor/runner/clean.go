package runner

import (
	"fmt"

	"ferrule/metal"
)

// automatedCleanTasks clean a node between two tenants, where that is wanted.
// Ironic: conductor/cleaning.do_node_clean.
func (r *run) automatedCleanTasks() []task {
	wanted := r.Settings.AutomatedClean
	if r.node.AutomatedClean != nil {
		wanted = *r.node.AutomatedClean
	}
	if !wanted {
		return []task{finishWith(metal.EventDone)}
	}
	if !r.usesRamdisk() {
		return []task{{Do: "driver-steps", Args: kindClean}, {Do: "steps"}, finishWith(metal.EventDone)}
	}
	tasks := r.enterRamdisk(kindClean)
	tasks = append(tasks, task{Do: "steps"}, setPower(metal.PowerOff))
	tasks = append(tasks, r.ejectTasks()...)
	return append(tasks, finishWith(metal.EventDone))
}

// manualCleanTasks run the steps that the request names, in its order.
func (r *run) manualCleanTasks() ([]task, error) {
	var args struct {
		Steps          []metal.Step `json:"clean_steps"`
		DisableRamdisk bool         `json:"disable_ramdisk"`
	}
	if err := r.op.Args.Decode(&args); err != nil {
		return nil, fmt.Errorf("read the clean steps: %w", err)
	}
	r.plan.Steps = args.Steps
	known := driverSteps(r.node, kindClean)
	ramdisk := false
	for i, s := range args.Steps {
		d, ok := findStep(known, s)
		if !ok {
			ramdisk = true
			continue
		}
		r.plan.Steps[i] = merged(d, s)
	}
	switch {
	case !ramdisk:
		return []task{{Do: "steps"}, finishWith(metal.EventManage)}, nil
	case args.DisableRamdisk || !r.usesRamdisk():
		return nil, fmt.Errorf("steps that only a ramdisk offers were asked for, and none is booted: %s", unknownNames(known, args.Steps))
	}
	tasks := append(r.enterRamdisk(kindClean), task{Do: "steps"}, setPower(metal.PowerOff))
	tasks = append(tasks, r.ejectTasks()...)
	return append(tasks, finishWith(metal.EventManage)), nil
}

// serviceTasks run service steps on a deployed node. Only steps that need no
// ramdisk are offered by the drivers built in.
func (r *run) serviceTasks() ([]task, error) {
	var args struct {
		Steps []metal.Step `json:"service_steps"`
	}
	if err := r.op.Args.Decode(&args); err != nil {
		return nil, fmt.Errorf("read the service steps: %w", err)
	}
	known := driverSteps(r.node, kindService)
	for _, s := range args.Steps {
		d, ok := findStep(known, s)
		if !ok {
			return nil, fmt.Errorf("no driver of this node offers the service steps: %s", unknownNames(known, args.Steps))
		}
		r.plan.Steps = append(r.plan.Steps, merged(d, s))
	}
	return []task{{Do: "steps"}, finishWith(metal.EventDone)}, nil
}

func unknownNames(known, asked []metal.Step) string {
	names := ""
	for _, s := range asked {
		if _, ok := findStep(known, s); !ok {
			if names != "" {
				names += ", "
			}
			names += s.Name()
		}
	}
	return names
}

// enterRamdisk boots the ramdisk, waits for its call and asks for its steps.
func (r *run) enterRamdisk(kind metal.JSON) []task {
	tasks := r.bootRamdisk("ipa-api-url={relay}")
	return append(tasks,
		fire(metal.EventWait), task{Do: "await-heartbeat"}, fire(metal.EventResume),
		task{Do: "ramdisk-steps", Args: kind})
}
