package runner

import (
	"errors"
	"slices"

	"ferrule/hardware"
	"ferrule/metal"
)

var rescueActions = map[string]action{
	hardware.TaskFinalizeRescue: {start: finalizeRescue, result: called},
	hardware.TaskRescuePassword: {start: dropRescuePassword},
}

// Keys of instance_info that hold the rescue password, as it was given and
// hashed as the ramdisk takes it. Both are sealed.
const (
	keyRescuePassword       = "rescue_password"
	keyHashedRescuePassword = "hashed_rescue_password"
)

func (r *run) rescueTasks() ([]task, error) {
	return r.rescuePiece(func(row hardware.Rescue) func(hardware.Machine) []task { return row.Begin })
}

func (r *run) unrescueTasks() ([]task, error) {
	return r.rescuePiece(func(row hardware.Rescue) func(hardware.Machine) []task { return row.End })
}

// rescuePiece is one piece of the rescue interface, and the end of the verb.
func (r *run) rescuePiece(of func(hardware.Rescue) func(hardware.Machine) []task) ([]task, error) {
	m := r.machine()
	row := m.Row(metal.RescueInterface)
	if row.Absent {
		return nil, hardware.Unsupported(r.node, "rescue")
	}
	var tasks []task
	if piece := of(row.Rescue); piece != nil {
		tasks = piece(m)
	}
	return append(tasks, finishWith(metal.EventDone)), nil
}

// leaveRescue is the clean-up of a rescue that failed or was aborted.
func (r *run) leaveRescue() []task {
	tasks := []task{{Do: hardware.TaskRescuePassword}}
	m := r.machine()
	if cleanUp := m.Row(metal.RescueInterface).Rescue.CleanUp; cleanUp != nil {
		return append(hardware.AllTried(tasks), cleanUp(m, r.plan.Aborted)...)
	}
	return tasks
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
func (r *run) adoptTasks() ([]task, error) {
	m := r.machine()
	if adopt := m.Row(metal.DeployInterface).Deploy.Adopt; adopt != nil {
		adopt(r.node)
	}
	return append(slices.Clone(m.Console(true)), finishWith(metal.EventDone)), nil
}
