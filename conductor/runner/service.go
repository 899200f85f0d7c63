package runner

import (
	"ferrule/hardware"
	"ferrule/metal"
)

// serviceTasks run service steps on a deployed node, through a ramdisk where a
// step needs one. Ironic: conductor/servicing.do_node_service.
func (r *run) serviceTasks() ([]task, error) {
	ramdisk, err := r.chooseSteps(metal.ServiceSteps)
	if err != nil {
		return nil, err
	}
	if !ramdisk {
		return append(stepsTasks(), finishWith(metal.EventDone)), nil
	}
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(metal.InfoAgentAttempted, true)
	tasks := append(r.machine().EnterRamdisk(metal.ServiceSteps), stepsTasks()...)
	tasks = append(tasks, r.machine().BootInstance()...)
	return append(tasks, finishWith(metal.EventDone)), nil
}

// leaveService is the clean-up of a servicing that failed or was aborted. A
// failed step leaves the ramdisk up, so that somebody can look.
func (r *run) leaveService() []task {
	switch {
	case !r.plan.Ramdisk:
		return nil
	case r.plan.InStep && !r.plan.Aborted && r.Settings.PowerOffAfterServiceFail:
		return []task{hardware.SetPower(metal.PowerOff).Tried()}
	case r.plan.InStep && !r.plan.Aborted:
		return nil
	}
	return hardware.AllTried(r.machine().BootInstance())
}
