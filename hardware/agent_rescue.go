package hardware

import "ferrule/metal"

// agentRescue boots a ramdisk that somebody can log in to (Ironic:
// conductor/manager._do_node_rescue, drivers/modules/agent.AgentRescue).
var agentRescue = Interface{
	Type: metal.RescueInterface, Name: "agent", Ramdisk: true,
	Validate: func(m Machine) error {
		_, err := m.RescueRamdisk()
		return err
	},
	Rescue: Rescue{
		Begin: func(m Machine) []Task {
			tasks := append(m.BootRamdisk(kernelAPI), WaitForCall()...)
			tasks = append(tasks, Task{Do: TaskFinalizeRescue}, Task{Do: TaskRescuePassword})
			return append(tasks, m.LeaveMedia()...)
		},
		End: Machine.BootInstance,
		// After an abort the machine keeps running.
		CleanUp: func(m Machine, aborted bool) []Task {
			var tasks []Task
			if !aborted {
				tasks = append(tasks, SetPower(metal.PowerOff))
			}
			return AllTried(append(tasks, m.LeaveMedia()...))
		},
	},
}
