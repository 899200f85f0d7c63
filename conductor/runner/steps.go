package runner

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ferrule/metal"
)

var errNoAgentURL = errors.New("the ramdisk has not called yet, so that its address is unknown")

// driverSteps are the steps that the node's own interfaces offer without a
// ramdisk.
func (r *run) driverSteps(kind metal.StepKind) []metal.Step { return r.machine().Steps(kind) }

// kind is the sort of steps that the operation runs.
func (r *run) kind() metal.StepKind { return r.verb().Steps }

// kindOf is the sort of steps that a task is about.
func kindOf(t task) metal.StepKind {
	var kind metal.StepKind
	_ = t.Args.Decode(&kind) // written by a row or here
	return kind
}

func findStep(known []metal.Step, s metal.Step) (metal.Step, bool) {
	for _, k := range known {
		if k.Interface == s.Interface && k.Step == s.Step {
			return k, true
		}
	}
	return metal.Step{}, false
}

// asked completes the steps that a user asks for, in the user's order, by what
// is known of them; the rest is known to nobody yet.
func asked(known, steps []metal.Step) (complete []metal.Step, unknown []string, err error) {
	for _, s := range steps {
		if s.OnChildNodes {
			return nil, nil, fmt.Errorf("step %s is to run on child nodes, which is not done from here; ask for it on the child nodes themselves", s.Name())
		}
		k, ok := findStep(known, s)
		switch {
		case ok:
			if err := k.CheckArgs(s.Args); err != nil {
				return nil, nil, err
			}
			s.Priority, s.Abortable = k.Priority, k.Abortable
			s.RequiresRamdisk, s.ArgsInfo, s.RebootRequested = k.RequiresRamdisk, k.ArgsInfo, k.RebootRequested
		case s.Reserved():
			s.Abortable = true
		default:
			unknown = append(unknown, s.Name())
		}
		complete = append(complete, s)
	}
	return complete, unknown, nil
}

// without leaves out the steps that the configuration forbids.
func without(steps []metal.Step, forbidden []string) []metal.Step {
	return slices.DeleteFunc(steps, func(s metal.Step) bool { return slices.Contains(forbidden, s.Name()) })
}

func listDriverSteps(r *run, t task) (verdict, error) {
	r.plan.Steps = r.automatic(r.driverSteps(kindOf(t)))
	return done, nil
}

// interfaceRank orders steps of the same priority (Ironic: conductor/steps,
// CLEANING_INTERFACE_PRIORITIES).
var interfaceRank = map[string]int{
	"vendor": 7, "power": 6, "management": 5, "firmware": 4, "deploy": 3, "bios": 2, "raid": 1,
}

// ordered is the automatic order: overrides first applied, then priority
// downwards; 0 leaves a step out.
func (r *run) ordered(steps []metal.Step) []metal.Step {
	var list []metal.Step
	for _, s := range steps {
		if p, ok := r.priority(s); ok {
			s.Priority = p
		}
		if s.Priority > 0 {
			list = append(list, s)
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Priority != b.Priority {
			return a.Priority > b.Priority
		}
		return interfaceRank[a.Interface] > interfaceRank[b.Interface]
	})
	return list
}

func (r *run) priority(s metal.Step) (int, bool) {
	if r.kind() != metal.CleanSteps {
		return 0, false
	}
	if p, ok := r.Settings.CleanStepPriority[s.Name()]; ok {
		return p, true
	}
	switch {
	case s.Step == "erase_devices" && r.Settings.EraseDevicesPriority != nil:
		return *r.Settings.EraseDevicesPriority, true
	case s.Step == "erase_devices_metadata" && r.Settings.EraseMetadataPriority != nil:
		return *r.Settings.EraseMetadataPriority, true
	case s.Name() == "raid.create_configuration" && r.Settings.CreateRAIDPriority != nil:
		return *r.Settings.CreateRAIDPriority, true
	case s.Name() == "raid.delete_configuration" && r.Settings.DeleteRAIDPriority != nil:
		return *r.Settings.DeleteRAIDPriority, true
	}
	return 0, false
}

// askSteps asks the ramdisk which steps it offers.
func askSteps(r *run, t task) (verdict, error) {
	kind := string(kindOf(t))
	return r.askRamdisk(kind+".get_"+kind+"_steps", r.nodeParams(), true)
}

func (r *run) askRamdisk(command string, params map[string]any, wait bool) (verdict, error) {
	req, args, err := r.ramdiskCall(command, params, wait)
	if err != nil {
		return stay, err
	}
	return r.command(req, args, 0)
}

func stepsCame(r *run, t task, res metal.CommandResult) (verdict, error) {
	c, err := ramdiskResult(res)
	if err != nil {
		return stay, fmt.Errorf("the ramdisk did not tell its steps: %w", err)
	}
	if c.Busy || c.Command == nil {
		return afterHeartbeat(r, t)
	}
	if isRunning(c.Command) {
		return r.awaitCommand(t, *c.Command)
	}
	kind := string(kindOf(t))
	steps, err := flatten(c.Command.Result[kind+"_steps"])
	if err != nil {
		return stay, err
	}
	version := metal.ToJSON(c.Command.Result[metal.InfoManagerVersion])
	r.plan.Version = version
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(metal.InfoManagerVersion, version)
	return done, r.mergeSteps(kindOf(t), r.ownable(steps))
}

// ownable keeps the steps of interfaces that the node leaves to the ramdisk.
func (r *run) ownable(steps []metal.Step) []metal.Step {
	return slices.DeleteFunc(steps, func(s metal.Step) bool {
		return !r.machine().Row(metal.InterfaceType(s.Interface)).Ramdisk
	})
}

// mergeSteps makes the final list, now that the ramdisk's part is known.
func (r *run) mergeSteps(kind metal.StepKind, inBand []metal.Step) error {
	switch {
	case kind == metal.DeploySteps:
		return r.mergeDeploySteps(inBand)
	case r.chosen():
		steps, unknown, err := asked(append(r.driverSteps(kind), inBand...), r.plan.Steps)
		if len(unknown) > 0 {
			err = fmt.Errorf("neither the node's drivers nor its ramdisk offer the steps: %s", strings.Join(unknown, ", "))
		}
		r.plan.Steps = steps
		return err
	}
	r.plan.Steps = r.automatic(append(r.driverSteps(metal.CleanSteps), inBand...))
	return nil
}

// chosen reports whether the steps are those of a request, in its order.
func (r *run) chosen() bool { return r.verb().Ordered }

// automatic is the list of an automated cleaning.
func (r *run) automatic(steps []metal.Step) []metal.Step {
	return r.ordered(without(steps, r.Settings.ForbiddenCleanSteps))
}

// flatten makes one list of what the hardware managers offer.
func flatten(v any) ([]metal.Step, error) {
	byManager := map[string][]metal.Step{}
	if err := metal.ToJSON(v).Decode(&byManager); err != nil {
		return nil, fmt.Errorf("read the ramdisk's steps: %w", err)
	}
	names := make([]string, 0, len(byManager))
	for name := range byManager {
		names = append(names, name)
	}
	sort.Strings(names)
	var steps []metal.Step
	for _, name := range names {
		for _, s := range byManager[name] {
			if s.Interface == "" || s.Step == "" {
				return nil, fmt.Errorf("the ramdisk's manager %s offers a step without interface or name", name)
			}
			s.RequiresRamdisk = true
			steps = append(steps, s)
		}
	}
	return steps, nil
}
