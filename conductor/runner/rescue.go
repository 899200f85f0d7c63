package runner

import (
	"errors"

	"ferrule/hardware"
	"ferrule/metal"
)

var rescueActions = map[string]action{
	"finalize-rescue": {start: finalizeRescue, result: called},
	"rescue-password": {start: dropRescuePassword},
}

// Keys of instance_info that hold the rescue password, as it was given and
// hashed as the ramdisk takes it. Both are sealed.
const (
	keyRescuePassword       = "rescue_password"
	keyHashedRescuePassword = "hashed_rescue_password"
)

// rescueTasks boot a ramdisk that somebody can log in to. Ironic:
// conductor/manager._do_node_rescue, drivers/modules/agent.AgentRescue.
func (r *run) rescueTasks() ([]task, error) {
	switch r.node.RescueInterface {
	case "fake":
		return []task{finishWith(metal.EventDone)}, nil
	case "agent":
		tasks := r.bootRamdisk("ipa-api-url={relay}")
		tasks = append(tasks, r.waitForCall()...)
		tasks = append(tasks, task{Do: "finalize-rescue"}, task{Do: "rescue-password"})
		return append(append(tasks, r.ejectTasks()...), finishWith(metal.EventDone)), nil
	}
	return nil, hardware.Unsupported(r.node, "rescue")
}

func (r *run) unrescueTasks() ([]task, error) {
	switch r.node.RescueInterface {
	case "fake":
		return []task{finishWith(metal.EventDone)}, nil
	case "agent":
		return append(r.bootInstance(), finishWith(metal.EventDone)), nil
	}
	return nil, hardware.Unsupported(r.node, "rescue")
}

// leaveRescue is the clean-up of a rescue that failed or was aborted. After an
// abort the machine keeps running.
func (r *run) leaveRescue() []task {
	tasks := []task{{Do: "rescue-password"}}
	if r.node.RescueInterface != "agent" {
		return tasks
	}
	if !r.plan.Aborted {
		tasks = append(tasks, setPower(metal.PowerOff))
	}
	return allTried(append(tasks, r.ejectTasks()...))
}

// finalizeRescue sets the password, and with it ends the ramdisk's calls.
func finalizeRescue(r *run, _ task) (verdict, error) {
	ref, err := r.instanceSecret(keyHashedRescuePassword)
	if err != nil {
		return stay, err
	}
	if ref == "" {
		return stay, errors.New("the node has no rescue password")
	}
	req, args, err := r.ramdiskCall("rescue.finalize_rescue", map[string]any{"rescue_password": "", "hashed": true}, true)
	if err != nil {
		return stay, err
	}
	req.Secrets[metal.RamdiskParams+"/rescue_password"] = ref
	return r.command(req, args, 0)
}

func dropRescuePassword(r *run, _ task) (verdict, error) {
	place := metal.InstanceInfoSecrets(r.node.UUID)
	r.dropSecrets(place.Below(keyRescuePassword), place.Below(keyHashedRescuePassword))
	r.node.InstanceInfo = r.node.InstanceInfo.Without(keyRescuePassword, keyHashedRescuePassword)
	return done, nil
}

// adoptTasks take an instance over as it is.
func (r *run) adoptTasks() []task {
	if r.node.DeployInterface == "direct" || r.node.DeployInterface == "autodetect" {
		r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(keyWholeDisk, true)
	}
	return append(r.consoleTasks(true), finishWith(metal.EventDone))
}
