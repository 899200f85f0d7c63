package runner

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

var stepActions = map[string]action{
	hardware.TaskDriverSteps:    {start: listDriverSteps},
	hardware.TaskRamdiskSteps:   {start: askSteps, result: stepsCame},
	hardware.TaskSteps:          {start: nextStep},
	hardware.TaskStepDone:       {start: stepDone},
	hardware.TaskFlowStart:      {start: flowStart},
	hardware.TaskFlowEnd:        {start: flowEnd},
	hardware.TaskPause:          {start: pause, timesOut: true},
	hardware.TaskAgentStep:      {start: sendStep, result: stepSent, judges: true},
	hardware.TaskAgentPoll:      {start: awaitStep, signal: pollStep, result: polled, judges: true},
	hardware.TaskCallRamdisk:    {start: callRamdisk, result: called, judges: true},
	hardware.TaskRamdiskRunning: {start: awaitRunning, signal: pollStep, result: runningSeen, judges: true},
}

// The walk along the list of steps: one at a time, the cursor in the plan.

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
	own, offered := r.machine().Step(r.kind(), s)
	switch {
	case s.Reserved():
		tasks = r.reservedStep(s)
	case !offered:
		tasks = hardware.AgentStep()
	case own.Tasks != nil:
		tasks = own.Tasks(r.machine(), s)
	}
	r.push(append(tasks, task{Do: hardware.TaskStepDone}, t)...)
	return done, nil
}

// reservedStep is what a step of the conductor's own consists of.
func (r *run) reservedStep(s metal.Step) []task {
	switch s.Step {
	case metal.StepPowerOn:
		if r.plan.Ramdisk && (r.node.PowerState == nil || *r.node.PowerState != string(metal.PowerOn)) {
			return r.machine().RebootRamdisk()
		}
		return []task{hardware.SetPower(metal.PowerOn)}
	case metal.StepPowerOff:
		return []task{hardware.SetPower(metal.PowerOff)}
	case metal.StepReboot:
		if r.plan.Ramdisk {
			return r.machine().RebootRamdisk()
		}
		return []task{hardware.SetPower(metal.PowerOff), hardware.SetPower(metal.PowerOn)}
	case metal.StepHold:
		return append([]task{{Do: hardware.TaskHold}}, r.afterHold()...)
	}
	if seconds, given := s.Args["seconds"]; given {
		return []task{hardware.Fire(metal.EventWait), {Do: hardware.TaskPause, Args: metal.ToJSON(seconds)}, hardware.Fire(metal.EventResume)}
	}
	return hardware.WaitForCall()
}

// afterHold: unhold leaves the node waiting for its ramdisk. Where none was
// booted, and in servicing, nobody would call.
func (r *run) afterHold() []task {
	if r.plan.Ramdisk && r.kind() != metal.ServiceSteps {
		return hardware.WaitForCall()
	}
	return []task{hardware.Fire(metal.EventResume)}
}

// pause lets time pass in a wait state.
func pause(r *run, t task) (verdict, error) {
	var seconds float64
	if err := t.Args.Decode(&seconds); err != nil {
		var text string
		if t.Args.Decode(&text) != nil {
			return stay, fmt.Errorf("the seconds to wait are no number: %s", t.Args)
		}
		if seconds, err = strconv.ParseFloat(text, 64); err != nil {
			return stay, fmt.Errorf("the seconds to wait are no number: %q", text)
		}
	}
	d := min(time.Duration(min(seconds, 1e6)*float64(time.Second)), r.Settings.LongestPause)
	if d <= 0 {
		return done, nil
	}
	r.wait(d)
	return stay, nil
}

func stepDone(r *run, _ task) (verdict, error) {
	if r.plan.Aborted {
		r.plan.Failure = r.abortText()
		r.plan.Tasks = append(r.cleanUp(), task{Do: hardware.TaskFailed})
		return done, nil
	}
	r.plan.Index++
	return done, nil
}

// showStep puts the step under way where clients look for it.
func (r *run) showStep(extra map[string]any) {
	shown := metal.ToJSON(r.shown(r.plan.Steps[r.plan.Index], extra))
	switch r.kind() {
	case metal.DeploySteps:
		r.node.DeployStep = shown
	case metal.ServiceSteps:
		r.node.ServiceStep = shown
	default:
		r.node.CleanStep = shown
	}
}

// shown is a step with the keys that clients know: those of a request, or those
// of the driver that offers it.
func (r *run) shown(s metal.Step, extra map[string]any) map[string]any {
	m := map[string]any{"interface": s.Interface, "step": s.Step, "priority": s.Priority, "abortable": s.Abortable}
	if s.Args != nil {
		m["args"] = masked(metal.ToJSON(s.Args))
	}
	if s.Order != nil {
		m["order"] = *s.Order
	}
	if !r.chosen() {
		m["argsinfo"] = s.ArgsInfo
		if r.kind() == metal.CleanSteps {
			m["requires_ramdisk"] = s.RequiresRamdisk
		}
	}
	maps.Copy(m, extra)
	return m
}
