package runner

import (
	"ferrule/metal"
)

// keyAgentAttempted tells that a servicing booted, or tried to boot, a ramdisk
// in place of the instance: who aborts a failed one has to boot the instance
// again (Ironic: driver_internal_info/agent_start_attempted).
const keyAgentAttempted = "agent_start_attempted"

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
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(keyAgentAttempted, true)
	tasks := append(r.enterRamdisk(kindService), stepsTasks()...)
	tasks = append(tasks, r.bootInstance()...)
	return append(tasks, finishWith(metal.EventDone)), nil
}

// bootInstance leaves the ramdisk and starts the instance from its disk.
func (r *run) bootInstance() []task {
	tasks := append([]task{setPower(metal.PowerOff)}, r.ejectTasks()...)
	return append(tasks, task{Do: "boot-fields"}, bootDevice("disk", true), setPower(metal.PowerOn))
}

// leaveService is the clean-up of a servicing that failed or was aborted. A
// failed step leaves the ramdisk up, so that somebody can look.
func (r *run) leaveService() []task {
	switch {
	case !r.plan.Ramdisk:
		return nil
	case r.plan.InStep && !r.plan.Aborted && r.Settings.PowerOffAfterServiceFail:
		return []task{setPower(metal.PowerOff).tried()}
	case r.plan.InStep && !r.plan.Aborted:
		return nil
	}
	return allTried(r.bootInstance())
}

func allTried(tasks []task) []task {
	for i := range tasks {
		tasks[i] = tasks[i].tried()
	}
	return tasks
}
