package hardware

import "ferrule/metal"

// agentInspect boots a ramdisk that looks at the machine from within.
var agentInspect = Interface{
	Type: metal.InspectInterface, Name: "agent", Ramdisk: true,
	Validate: func(m Machine) error {
		if !m.Row(metal.BootInterface).Boot.Inspects {
			if m.settings.RequireManagedBoot {
				return metal.Errorf(metal.Invalid, "The boot interface %s of node %s does not support managed inspection; choose another one, or set [inspector]require_managed_boot to false.",
					m.Node.BootInterface, m.Node.Label())
			}
			return nil
		}
		_, err := m.DeployRamdisk()
		return err
	},
	Inspect: Inspect{Tasks: inspectInBand},
}

func inspectInBand(m Machine, o Inspection) []Task {
	var tasks []Task
	if o.CreatePorts {
		tasks = append(tasks, Task{Do: TaskReadMACs}.Tried())
	}
	params := append([]string{"ipa-inspection-callback-url={relay}/v1/continue_inspection?inspection_proof={proof}"}, o.KernelParams...)
	tasks = append(tasks, m.BootRamdisk(params...)...)
	tasks = append(tasks, Fire(metal.EventWait), Task{Do: TaskAwaitInspection})
	if o.PowerOff {
		tasks = append(tasks, SetPower(metal.PowerOff))
	}
	return append(tasks, m.LeaveMedia()...)
}
