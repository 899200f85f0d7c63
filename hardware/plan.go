package hardware

import "ferrule/metal"

// Pieces of plan that several rows and the runner use.

// kernelAPI is the word on the kernel line that tells the ramdisk whom to call.
const kernelAPI = "ipa-api-url={relay}"

// BootRamdisk boots a ramdisk with the given words on its kernel line. Off
// first: media and boot device are set on a machine that stands still.
func (m Machine) BootRamdisk(params ...string) []Task {
	tasks := []Task{{Do: TaskEnterRamdisk}, SetPower(metal.PowerOff), {Do: TaskForgetRamdisk}}
	if prepare := m.Row(metal.BootInterface).Boot.Prepare; prepare != nil {
		tasks = append(tasks, prepare(params)...)
	}
	return append(tasks, SetPower(metal.PowerOn))
}

// RebootRamdisk starts the machine anew, into the same ramdisk: its media are in
// and its token holds, only the boot device is for once.
func (m Machine) RebootRamdisk() []Task {
	tasks := []Task{SetPower(metal.PowerOff), {Do: TaskRestartRamdisk}}
	if again := m.Row(metal.BootInterface).Boot.Again; again != nil {
		tasks = append(tasks, again()...)
	}
	return append(append(tasks, SetPower(metal.PowerOn)), WaitForCall()...)
}

// EnterRamdisk boots the ramdisk, waits for its call and asks for its steps.
func (m Machine) EnterRamdisk(kind metal.StepKind) []Task {
	tasks := append(m.BootRamdisk(kernelAPI), WaitForCall()...)
	return append(tasks, Task{Do: TaskRamdiskSteps, Args: metal.ToJSON(string(kind))})
}

// LeaveMedia takes back what the ramdisk was booted from.
func (m Machine) LeaveMedia() []Task {
	if leave := m.Row(metal.BootInterface).Boot.Leave; leave != nil {
		return leave()
	}
	return nil
}

// LeaveRamdisk ends a ramdisk in the clean-up of a failure, so nothing in it
// may fail: off, nothing inserted, nothing published.
func (m Machine) LeaveRamdisk() []Task {
	return AllTried(append([]Task{SetPower(metal.PowerOff)}, m.LeaveMedia()...))
}

// BootInstance leaves the ramdisk and starts the instance from its disk.
func (m Machine) BootInstance() []Task {
	tasks := append([]Task{SetPower(metal.PowerOff)}, m.LeaveMedia()...)
	return append(tasks, Task{Do: TaskForgetRamdisk}, SetBootDevice("disk", true), SetPower(metal.PowerOn))
}

// Refresh reads again what work on the node may have changed.
func (m Machine) Refresh() []Task {
	var tasks []Task
	for _, t := range metal.InterfaceTypes() {
		tasks = append(tasks, m.Row(t).Refresh...)
	}
	return tasks
}

// Console starts or stops the console of a node that has it enabled: a node is
// deployed and adopted with it, and torn down without.
func (m Machine) Console(start bool) []Task {
	row := m.Row(metal.ConsoleInterface)
	switch {
	case !m.Node.ConsoleEnabled:
		return nil
	case start:
		return row.Console.Start
	}
	return row.Console.Stop
}
