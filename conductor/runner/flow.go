package runner

import (
	"fmt"
	"slices"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

var flowActions = map[string]action{
	hardware.TaskFire:           {start: fireEvent},
	hardware.TaskFinish:         {start: finish},
	hardware.TaskFailed:         {start: failed},
	hardware.TaskPowerDone:      {start: powerDone},
	hardware.TaskEndInstance:    {start: endInstance},
	hardware.TaskAwaitHeartbeat: {start: awaitHeartbeat, signal: heartbeatCame},
	hardware.TaskHold:           {start: hold},
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
	plan, ok := verbPlans[metal.Verb(r.op.Verb)]
	if !ok || plan.begin == nil {
		return nil, fmt.Errorf("the verb %q is unknown", r.op.Verb)
	}
	return plan.begin(r)
}

// cleanUp is what a failed or aborted operation leaves in order: best effort,
// and nothing where the BMC does not answer.
func (r *run) cleanUp() []task {
	if c := verbPlans[metal.Verb(r.op.Verb)].cleanUp; c != nil {
		return c(r)
	}
	return nil
}

func finishWith(event metal.Event) task {
	return task{Do: hardware.TaskFinish, Args: metal.ToJSON(string(event))}
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
	if e == metal.EventWait && r.node.ProvisionState.Waits() {
		return done, nil
	}
	if e == metal.EventResume && !r.node.ProvisionState.Waits() {
		return done, nil
	}
	return done, metal.Fire(r.node, e, r.keepTarget(), r.Now)
}

// keepTarget is the target that the operation keeps through its states.
func (r *run) keepTarget() metal.State { return r.verb().Target }

// verb is the row of the operation's verb; an empty one on the other axes.
func (r *run) verb() metal.VerbInfo {
	info, _ := metal.Verb(r.op.Verb).Info()
	return info
}

// finish ends an operation that went well.
func finish(r *run, t task) (verdict, error) {
	e := eventOf(t)
	if finished := verbPlans[metal.Verb(r.op.Verb)].finished; finished != nil {
		finished(r)
	}
	if r.node.ProvisionState.Is(metal.Cleaning) && (r.verb().Target == metal.Manageable || r.node.Retired) {
		e = metal.EventManage
	}
	eventType := historyType(r.node.ProvisionState)
	if err := metal.Fire(r.node, e, metal.NoState, r.Now); err != nil {
		return stay, err
	}
	r.node.LastError = nil
	r.clearSteps()
	r.forgetRamdisk(true)
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.Without(metal.InfoAgentAttempted)
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
func (r *run) deleteTasks() ([]task, error) {
	m := r.machine()
	tasks := slices.Clone(m.Console(false))
	if tearDown := m.Row(metal.DeployInterface).Deploy.TearDown; tearDown != nil {
		tasks = append(tasks, tearDown(m)...)
	}
	return append(tasks, task{Do: hardware.TaskEndInstance}), nil
}

// endInstance forgets the instance, in the same write that starts cleaning.
func endInstance(r *run, _ task) (verdict, error) {
	n := r.node
	r.dropSecrets(metal.InstanceInfoSecrets(n.UUID))
	n.InstanceInfo, n.InstanceUUID, n.InstanceName = metal.EmptyObject, nil, nil
	n.AllocationUUID = nil
	if lent, _ := n.DriverInternalInfo.Lookup(metal.InfoAutomaticLessee).(bool); lent {
		n.Lessee = nil
	}
	n.DriverInternalInfo = n.DriverInternalInfo.Without(metal.InfoAutomaticLessee, metal.InfoWholeDisk, metal.InfoDeploySteps)
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
