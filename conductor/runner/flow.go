package runner

import (
	"fmt"
	"time"

	"ferrule/metal"
)

var flowActions = map[string]action{
	"fire":            {start: fireEvent},
	"finish":          {start: finish},
	"failed":          {start: failed},
	"power-done":      {start: powerDone},
	"end-instance":    {start: endInstance},
	"await-heartbeat": {start: awaitHeartbeat, signal: heartbeatCame},
	"hold":            {start: hold},
}

// begin is the plan of the operation's verb.
func (r *run) begin() ([]task, error) {
	if r.op.Axis == metal.AxisPower {
		return r.powerTasks(), nil
	}
	if r.op.Axis == metal.AxisAction {
		return r.actionTasks()
	}
	r.node.LastError = nil
	switch metal.Verb(r.op.Verb) {
	case metal.VerbManage:
		tasks := []task{{Do: "read-power"}, task{Do: "read-modes"}.tried(), task{Do: "read-secure-boot"}.tried()}
		return append(append(tasks, r.cacheTasks()...), finishWith(metal.EventDone)), nil
	case metal.VerbInspect:
		return r.inspectTasks()
	case metal.VerbProvide:
		return r.automatedCleanTasks(), nil
	case metal.VerbClean:
		return r.manualCleanTasks()
	case metal.VerbActive, metal.VerbRebuild:
		return r.deployTasks()
	case metal.VerbDeleted:
		return r.deleteTasks(), nil
	case metal.VerbAdopt:
		return r.adoptTasks(), nil
	case metal.VerbRescue:
		return r.rescueTasks()
	case metal.VerbUnrescue:
		return r.unrescueTasks()
	case metal.VerbService:
		return r.serviceTasks()
	}
	return nil, fmt.Errorf("the verb %q is unknown", r.op.Verb)
}

// cleanUp is what a failed or aborted operation leaves in order: best effort,
// and nothing where the BMC does not answer.
func (r *run) cleanUp() []task {
	switch metal.Verb(r.op.Verb) {
	case metal.VerbActive, metal.VerbRebuild:
		if r.plan.Aborted {
			return allTried(r.ejectTasks()) // the machine keeps running, as in Ironic
		}
		if r.plan.InStep && !r.Settings.PowerOffAfterDeployFailure {
			return nil
		}
		return r.leaveRamdisk()
	case metal.VerbProvide, metal.VerbClean, metal.VerbDeleted:
		if r.plan.InStep && !r.plan.Aborted && !r.Settings.PowerOffAfterCleanFailure {
			return nil // the ramdisk stays up, so that somebody can look
		}
		return r.leaveRamdisk()
	case metal.VerbService:
		return r.leaveService()
	case metal.VerbRescue:
		return r.leaveRescue()
	case metal.VerbInspect:
		if r.node.InspectInterface == "agent" {
			return r.leaveRamdisk()
		}
	}
	return nil
}

func fire(event metal.Event) task {
	return task{Do: "fire", Args: metal.ToJSON(string(event))}
}

func finishWith(event metal.Event) task {
	return task{Do: "finish", Args: metal.ToJSON(string(event))}
}

func eventOf(t task) metal.Event {
	var e string
	_ = t.Args.Decode(&e)
	return metal.Event(e)
}

// fireEvent moves the node's state. Firing what has been fired already is no
// error, so that a wait may be entered again.
func fireEvent(r *run, t task) (verdict, error) {
	e := eventOf(t)
	if e == metal.EventWait && waits(r.node.ProvisionState) {
		return done, nil
	}
	if e == metal.EventResume && !waits(r.node.ProvisionState) {
		return done, nil
	}
	return done, metal.Fire(r.node, e, r.keepTarget(), r.Now)
}

// keepTarget is the target that the operation keeps through its states; only
// manual cleaning has one of its own.
func (r *run) keepTarget() metal.State {
	if metal.Verb(r.op.Verb) == metal.VerbClean {
		return metal.Manageable
	}
	return metal.NoState
}

// finish ends an operation that went well.
func finish(r *run, t task) (verdict, error) {
	e := eventOf(t)
	if metal.Verb(r.op.Verb) == metal.VerbManage && e == metal.EventDone {
		r.node.DriverInternalInfo = r.node.DriverInternalInfo.Without(keyPowerFailures)
	}
	if r.node.ProvisionState.Is(metal.Cleaning) && (metal.Verb(r.op.Verb) == metal.VerbClean || r.node.Retired) {
		e = metal.EventManage
	}
	eventType := historyType(r.node.ProvisionState)
	if err := metal.Fire(r.node, e, metal.NoState, r.Now); err != nil {
		return stay, err
	}
	r.node.LastError = nil
	r.clearSteps()
	r.forgetRamdisk(true)
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.Without(keyAgentAttempted)
	r.history("INFO", eventType, fmt.Sprintf("The node is %s.", r.node.ProvisionState))
	r.close()
	return done, nil
}

// awaitHeartbeat waits until the ramdisk calls.
func awaitHeartbeat(r *run, _ task) (verdict, error) {
	if r.plan.Beat {
		r.plan.Beat = false
		return done, nil
	}
	r.wait(r.callbackTimeout())
	return stay, nil
}

func heartbeatCame(r *run, _ task, e metal.InboxEntry) (verdict, error) {
	if e.Kind != metal.InboxHeartbeat || r.node.Maintenance {
		return stay, nil
	}
	return done, nil
}

// callbackTimeout is how long the state that waits may wait.
func (r *run) callbackTimeout() time.Duration {
	switch r.node.ProvisionState {
	case metal.DeployWait:
		return r.Settings.DeployTimeout
	case metal.CleanWait:
		return r.Settings.CleanTimeout
	case metal.InspectWait:
		return r.Settings.InspectTimeout
	case metal.RescueWait:
		return r.Settings.RescueTimeout
	case metal.ServiceWait:
		return r.Settings.ServiceTimeout
	}
	return 0
}

// deleteTasks tear an instance down and clean the node for the next one.
func (r *run) deleteTasks() []task {
	tasks := r.consoleTasks(false)
	if r.usesRamdisk() {
		tasks = append(tasks, setPower(metal.PowerOff))
		tasks = append(tasks, r.ejectTasks()...)
	}
	return append(tasks, task{Do: "end-instance"})
}

// endInstance forgets the instance, in the same write that starts cleaning.
func endInstance(r *run, _ task) (verdict, error) {
	n := r.node
	r.dropSecrets(metal.InstanceInfoSecrets(n.UUID))
	n.InstanceInfo, n.InstanceUUID, n.InstanceName = metal.EmptyObject, nil, nil
	n.AllocationUUID = nil
	if lent, _ := n.DriverInternalInfo.Lookup("automatic_lessee").(bool); lent {
		n.Lessee = nil
	}
	n.DriverInternalInfo = n.DriverInternalInfo.Without("automatic_lessee", "is_whole_disk_image", "deploy_steps")
	r.forgetRamdisk(true)
	if err := metal.Fire(n, metal.EventClean, metal.NoState, r.Now); err != nil {
		return stay, err
	}
	r.push(r.automatedCleanTasks()...)
	return done, nil
}

// hold stops until a user says unhold.
func hold(r *run, _ task) (verdict, error) {
	return stay, metal.Fire(r.node, metal.EventHold, r.keepTarget(), r.Now)
}

// dropSecrets orders the deletion of what is kept at these places.
func (r *run) dropSecrets(places ...metal.SecretPlace) {
	r.out.DropPlaces = append(r.out.DropPlaces, places...)
}
