package runner

import (
	"cmp"
	"errors"
	"fmt"

	"ferrule/hardware"
	"ferrule/metal"
)

// fail passes over a best-effort task's failure; any other one turns the plan
// into the clean-up of its verb, whose last task writes state and text in one.
func (r *run) fail(t task, err error) error {
	r.plan.Current = nil
	r.op.Deadline = nil
	var ref refusal
	if errors.As(err, &ref) && (ref.ErrorCode == metal.CodeUnreachable || ref.ErrorCode == metal.CodeAuthFailed) && isBMC(t) {
		r.plan.DeadBMC = true
	}
	if t.BestEffort {
		return r.loop()
	}
	switch r.op.Axis {
	case metal.AxisPower:
		r.powerFailed(err)
		return nil
	case metal.AxisAction:
		r.actionFailed(err)
		return nil
	}
	if r.plan.Failure != "" {
		// A failure in the clean-up of a failure: the first one is what counts.
		return r.loop()
	}
	r.plan.Failure = r.failureText(err)
	r.plan.Tasks = append(r.cleanUp(), task{Do: hardware.TaskFailed})
	return r.loop()
}

// failureText says what failed for whom, in the form that Ironic's users know.
func (r *run) failureText(err error) string {
	var text told
	if errors.As(err, &text) {
		return string(text)
	}
	info := r.verb()
	switch s := r.step(); {
	case s != nil && info.Steps == metal.DeploySteps:
		return fmt.Sprintf("Deploy step %s failed: %s", s.Name(), err)
	case s != nil:
		return fmt.Sprintf("Step %s failed: %s", s.Name(), err)
	case info.Failure != "" && (info.FailsIn == metal.NoState || r.node.ProvisionState == info.FailsIn):
		return info.FailureText(r.node, err)
	}
	return err.Error()
}

// failed is the end of an operation that failed.
func failed(r *run, _ task) (verdict, error) {
	event, eventType := metal.EventFail, historyType(r.node.ProvisionState)
	if r.plan.Aborted {
		event = metal.EventAbort
	}
	if _, ok := metal.Next(r.node.ProvisionState, event); !ok {
		event = metal.EventFail
	}
	text := r.plan.Failure
	r.flowCut()
	r.history("ERROR", eventType, text) // of the state in which it failed
	cleaning := r.node.ProvisionState.Is(metal.Cleaning, metal.CleanWait, metal.CleanHold)
	if err := metal.Fire(r.node, event, r.keepTarget(), r.Now); err != nil {
		return stay, err
	}
	switch {
	case r.plan.Aborted:
	case cleaning && r.plan.InStep:
		r.maintain(metal.FaultClean, text)
	case r.node.ProvisionState.Is(metal.ServiceFailed) && (r.plan.InStep || !r.plan.Ramdisk && len(r.plan.Steps) > 0):
		r.maintain(metal.FaultService, text)
	}
	switch r.node.ProvisionState {
	case metal.Enroll:
		r.node.TargetProvisionState = metal.NoState
	case metal.AdoptFailed:
		r.node.PowerState = nil
	}
	if r.plan.Aborted && r.node.ProvisionState.Is(metal.ServiceFailed) {
		// An aborted service ends where it began (state-machine: service wait, abort).
		if err := metal.Fire(r.node, metal.EventAbort, metal.NoState, r.Now); err != nil {
			return stay, err
		}
		r.node.DriverInternalInfo = r.node.DriverInternalInfo.Without(metal.InfoAgentAttempted)
	}
	r.setLastError(text)
	r.clearSteps()
	r.forgetRamdisk(true)
	r.close()
	return done, nil
}

func (r *run) maintain(fault, text string) {
	r.node.Maintenance, r.node.Fault, r.node.MaintenanceReason = true, &fault, &text
}

// historyType is the event_type of what happens in state s.
func historyType(s metal.State) string {
	info, _ := s.Info()
	return cmp.Or(info.History, "provisioning")
}

// setLastError says what went wrong. Ramdisks and BMCs quote the URLs that they
// were given.
func (r *run) setLastError(text string) {
	text = metal.HideUserinfo(text)
	r.node.LastError = &text
}

func (r *run) history(severity, eventType, text string) {
	e := metal.HistoryEntry{
		UUID: r.NewID(), NodeUUID: r.node.UUID, Severity: severity, EventType: eventType, Event: metal.HideUserinfo(text),
		Conductor: r.Settings.Host, User: r.op.User, Project: r.op.Project, CreatedAt: r.Now,
		State: r.node.ProvisionState, TargetProvisionState: r.node.TargetProvisionState,
	}
	if r.op.StartedAt.Before(r.Now) {
		secs := int64(r.Now.Sub(r.op.StartedAt).Seconds())
		e.DurationSeconds = &secs
	}
	r.out.History = append(r.out.History, e)
}

// close ends the operation.
func (r *run) close() {
	at := r.Now
	r.dropSecrets(r.op.Secrets())
	r.op.FinishedAt = &at
	r.op.Deadline = nil
	r.plan = plan{}
}

func (r *run) clearSteps() {
	r.node.CleanStep, r.node.DeployStep, r.node.ServiceStep = metal.EmptyObject, metal.EmptyObject, metal.EmptyObject
}

// abort is a user's abort of a wait. A step that must not be cut short is
// marked, and the operation ends when it does.
func (r *run) abort() error {
	if r.plan.Failure != "" {
		return nil
	}
	if s := r.step(); s != nil && !s.Abortable && r.kind() != metal.DeploySteps {
		r.plan.Aborted = true
		r.showStep(map[string]any{"abort_after": true})
		return nil
	}
	r.plan.Aborted, r.plan.Waiting = true, ""
	r.plan.Failure = r.abortText()
	r.plan.Current, r.op.Deadline = nil, nil
	r.plan.Tasks = append(r.cleanUp(), task{Do: hardware.TaskFailed})
	return r.loop()
}

func (r *run) abortText() string {
	switch {
	case r.node.ProvisionState.Is(metal.InspectWait):
		return "Inspection was aborted by request."
	case r.kind() == metal.CleanSteps && r.node.ProvisionState.Is(metal.Cleaning, metal.CleanWait, metal.CleanHold):
		return "By request, the clean operation was aborted" + r.atStep()
	case r.kind() == metal.DeploySteps:
		return fmt.Sprintf("By request, the deploy operation was aborted for node %s", r.node.UUID)
	case r.node.ProvisionState.Is(metal.RescueWait):
		return "By request, the rescue operation was aborted."
	}
	return "By request, the service operation was aborted" + r.atStep()
}

// atStep says which step an abort met.
func (r *run) atStep() string {
	if s := r.step(); s != nil {
		return fmt.Sprintf(" during or after the completion of step %q", s.Name())
	}
	return ""
}

// unhold goes on where a hold step had stopped.
func (r *run) unhold() error {
	if err := metal.Fire(r.node, metal.EventUnhold, r.keepTarget(), r.Now); err != nil {
		return nil // not in a hold state any more
	}
	return r.loop()
}
