package runner

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"ferrule/metal"
)

var stepActions = map[string]action{
	"driver-steps":  {start: listDriverSteps},
	"ramdisk-steps": {start: askSteps, result: stepsCame},
	"steps":         {start: nextStep},
	"step-done":     {start: stepDone},
	"agent-step":    {start: sendStep, result: stepSent, judges: true},
	"agent-poll":    {start: awaitStep, signal: pollStep, result: polled, judges: true},
	"ramdisk":       {start: callRamdisk, result: called, judges: true},
}

// The kinds of steps, as arguments of tasks; also the ramdisk's extensions.
const (
	kindClean   metal.JSON = `"clean"`
	kindDeploy  metal.JSON = `"deploy"`
	kindService metal.JSON = `"service"`
)

var errNoAgentURL = errors.New("the ramdisk has not called yet, so that its address is unknown")

func kindName(kind metal.JSON) string { return strings.Trim(string(kind), `"`) }

// kind is the sort of steps that the operation runs.
func (r *run) kind() string {
	switch metal.Verb(r.op.Verb) {
	case metal.VerbActive, metal.VerbRebuild:
		return "deploy"
	case metal.VerbService:
		return "service"
	}
	return "clean"
}

// driverSteps are the steps that the node's own interfaces offer without a
// ramdisk.
func driverSteps(n *metal.Node, kind metal.JSON) []metal.Step {
	var steps []metal.Step
	switch {
	case kind == kindDeploy && n.DeployInterface == "fake":
		steps = append(steps, metal.Step{Interface: "deploy", Step: "deploy", Priority: 100})
	case kind == kindDeploy:
		steps = append(steps, deploySteps...)
	case n.VendorInterface == "fake":
		s := metal.Step{Interface: "vendor", Step: "log_passthrough"}
		if kind == kindClean {
			s.Priority = 1
		}
		steps = append(steps, s)
	}
	return steps
}

func findStep(known []metal.Step, s metal.Step) (metal.Step, bool) {
	for _, k := range known {
		if k.Interface == s.Interface && k.Step == s.Step {
			return k, true
		}
	}
	return metal.Step{}, false
}

// merged is a step as a user asks for it, with what the driver knows of it.
func merged(driver, user metal.Step) metal.Step {
	user.Priority, user.Abortable = driver.Priority, driver.Abortable
	user.RequiresRamdisk, user.ArgsInfo = driver.RequiresRamdisk, driver.ArgsInfo
	return user
}

func listDriverSteps(r *run, t task) (verdict, error) {
	r.plan.Steps = r.ordered(driverSteps(r.node, t.Args))
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
	if p, ok := r.Settings.CleanStepPriority[s.Name()]; ok {
		return p, true
	}
	if r.kind() != "clean" {
		return 0, false
	}
	switch {
	case s.Step == "erase_devices" && r.Settings.EraseDevicesPriority != nil:
		return *r.Settings.EraseDevicesPriority, true
	case s.Step == "erase_devices_metadata" && r.Settings.EraseMetadataPriority != nil:
		return *r.Settings.EraseMetadataPriority, true
	}
	return 0, false
}

// askSteps asks the ramdisk which steps it offers.
func askSteps(r *run, t task) (verdict, error) {
	kind := kindName(t.Args)
	return r.askRamdisk(kind+".get_"+kind+"_steps", r.nodeParams(), true)
}

func (r *run) askRamdisk(command string, params map[string]any, wait bool) (verdict, error) {
	args, err := r.ramdiskCall(command, params, wait)
	if err != nil {
		return stay, err
	}
	return r.command(metal.Request{Operation: metal.RamdiskCall}, args, 0)
}

func stepsCame(r *run, t task, res metal.CommandResult) (verdict, error) {
	c, err := ramdiskResult(res)
	if err != nil {
		return stay, fmt.Errorf("the ramdisk did not tell its steps: %w", err)
	}
	if c.Busy || c.Command == nil {
		return afterHeartbeat(r, t)
	}
	kind := kindName(t.Args)
	steps, err := flatten(c.Command.Result[kind+"_steps"])
	if err != nil {
		return stay, err
	}
	version := metal.ToJSON(c.Command.Result["hardware_manager_version"])
	r.plan.Version = version
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With("hardware_manager_version", version)
	return done, r.mergeSteps(kind, r.ownable(steps))
}

// ownable keeps the steps of interfaces that the node leaves to the ramdisk.
func (r *run) ownable(steps []metal.Step) []metal.Step {
	return slices.DeleteFunc(steps, func(s metal.Step) bool {
		return s.Interface != "deploy" && r.node.Interface(metal.InterfaceType(s.Interface)) != "agent"
	})
}

// mergeSteps makes the final list. A deployment keeps its own steps, and its
// place among them; in-band ones come in by priority.
func (r *run) mergeSteps(kind string, inBand []metal.Step) error {
	switch {
	case kind == "deploy":
		rest := slices.DeleteFunc(r.ordered(inBand), func(s metal.Step) bool { _, own := findStep(deploySteps, s); return own })
		head := r.plan.Steps[:r.plan.Index+1]
		tail := append(append([]metal.Step{}, r.plan.Steps[r.plan.Index+1:]...), rest...)
		sort.SliceStable(tail, func(i, j int) bool { return tail[i].Priority > tail[j].Priority })
		r.plan.Steps = append(append([]metal.Step{}, head...), tail...)
	case metal.Verb(r.op.Verb) == metal.VerbClean:
		known := append(driverSteps(r.node, kindClean), inBand...)
		for i, s := range r.plan.Steps {
			k, ok := findStep(known, s)
			if !ok {
				return fmt.Errorf("neither the node's drivers nor its ramdisk offer the steps: %s", unknownNames(known, r.plan.Steps))
			}
			r.plan.Steps[i] = merged(k, s)
		}
	default:
		r.plan.Steps = r.ordered(append(driverSteps(r.node, kindClean), inBand...))
	}
	return nil
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

// step is the step under way, nil before the first and after the last.
func (r *run) step() *metal.Step {
	if r.plan.Index < len(r.plan.Steps) && r.plan.InStep {
		return &r.plan.Steps[r.plan.Index]
	}
	return nil
}

// nextStep begins the step at the cursor, or ends the list.
func nextStep(r *run, t task) (verdict, error) {
	if r.plan.Index >= len(r.plan.Steps) {
		r.plan.InStep = false
		r.clearSteps()
		return done, nil
	}
	r.plan.InStep = true
	s := r.plan.Steps[r.plan.Index]
	r.showStep(nil)
	var tasks []task
	switch {
	case s.Step == "hold":
		tasks = []task{{Do: "hold"}}
	case r.kind() == "deploy":
		own, ok := r.deployStep(s)
		if !ok && s.RequiresRamdisk {
			own = agentStep()
		}
		tasks = own
	case s.RequiresRamdisk:
		tasks = agentStep()
	}
	r.push(append(tasks, task{Do: "step-done"}, t)...)
	return done, nil
}

func agentStep() []task {
	return []task{{Do: "agent-step"}, fire(metal.EventWait), {Do: "agent-poll"}, fire(metal.EventResume)}
}

func stepDone(r *run, _ task) (verdict, error) {
	if r.plan.Aborted {
		r.plan.Failure = r.abortText()
		r.plan.Tasks = append(r.cleanUp(), task{Do: "failed"})
		return done, nil
	}
	r.plan.Index++
	return done, nil
}

// showStep puts the step under way where clients look for it.
func (r *run) showStep(extra map[string]any) {
	shown := metal.ToJSON(r.plan.Steps[r.plan.Index])
	for k, v := range extra {
		shown = shown.With(k, v)
	}
	switch r.kind() {
	case "deploy":
		r.node.DeployStep = shown
	case "service":
		r.node.ServiceStep = shown
	default:
		r.node.CleanStep = shown
	}
}
