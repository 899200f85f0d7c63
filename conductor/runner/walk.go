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
	"driver-steps":  {start: listDriverSteps},
	"ramdisk-steps": {start: askSteps, result: stepsCame},
	"steps":         {start: nextStep},
	"step-done":     {start: stepDone},
	"flow-start":    {start: flowStart},
	"flow-end":      {start: flowEnd},
	"pause":         {start: pause, timesOut: true},
	"agent-step":    {start: sendStep, result: stepSent, judges: true},
	"agent-poll":    {start: awaitStep, signal: pollStep, result: polled, judges: true},
	"ramdisk":       {start: callRamdisk, result: called, judges: true},

	"ramdisk-running": {start: awaitRunning, signal: pollStep, result: runningSeen, judges: true},
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
	switch {
	case s.Reserved():
		tasks = r.reservedStep(s)
	case r.offered(s):
		tasks = r.ownStep(s)
	default:
		tasks = agentStep()
	}
	r.push(append(tasks, task{Do: "step-done"}, t)...)
	return done, nil
}

// offered reports whether one of the node's own interfaces carries the step out.
func (r *run) offered(s metal.Step) bool {
	_, ok := findStep(r.driverSteps(metal.ToJSON(r.kind())), s)
	return ok
}

// ownStep is what a step of the node's own interfaces consists of. Those of the
// fake ones are done as soon as they are begun.
func (r *run) ownStep(s metal.Step) []task {
	if s.Step == hardware.StepServiceWait {
		return r.waitForCall()
	}
	switch {
	case r.kind() == "deploy":
		return r.deployStep(s)
	case s.Interface == "bios":
		return biosStep(s)
	}
	return nil
}

// reservedStep is what a step of the conductor's own consists of.
func (r *run) reservedStep(s metal.Step) []task {
	switch s.Step {
	case metal.StepPowerOn:
		if r.plan.Ramdisk && (r.node.PowerState == nil || *r.node.PowerState != string(metal.PowerOn)) {
			return r.rebootRamdisk()
		}
		return []task{setPower(metal.PowerOn)}
	case metal.StepPowerOff:
		return []task{setPower(metal.PowerOff)}
	case metal.StepReboot:
		if r.plan.Ramdisk {
			return r.rebootRamdisk()
		}
		return []task{setPower(metal.PowerOff), setPower(metal.PowerOn)}
	case metal.StepHold:
		return append([]task{{Do: "hold"}}, r.afterHold()...)
	}
	if seconds, given := s.Args["seconds"]; given {
		return []task{fire(metal.EventWait), {Do: "pause", Args: metal.ToJSON(seconds)}, fire(metal.EventResume)}
	}
	return r.waitForCall()
}

// waitForCall goes on when the ramdisk calls.
func (r *run) waitForCall() []task {
	return []task{fire(metal.EventWait), {Do: "await-heartbeat"}, fire(metal.EventResume)}
}

// afterHold: unhold leaves the node waiting for its ramdisk. Where none was
// booted, and in servicing, nobody would call.
func (r *run) afterHold() []task {
	if r.plan.Ramdisk && r.kind() != "service" {
		return r.waitForCall()
	}
	return []task{fire(metal.EventResume)}
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
	shown := metal.ToJSON(r.shown(r.plan.Steps[r.plan.Index], extra))
	switch r.kind() {
	case "deploy":
		r.node.DeployStep = shown
	case "service":
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
		if r.kind() == "clean" {
			m["requires_ramdisk"] = s.RequiresRamdisk
		}
	}
	maps.Copy(m, extra)
	return m
}
