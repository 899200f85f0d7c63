package hardware

import (
	"slices"

	"ferrule/metal"
)

// Task is one entry of a plan: the name of what is done, and its arguments.
type Task struct {
	Do         string     `json:"do"`
	Args       metal.JSON `json:"args,omitempty"`
	BestEffort bool       `json:"bestEffort,omitempty"` // a failure is passed over
	Repeats    int        `json:"repeats,omitempty"`    // how often it was begun anew, its outcome being unknown
}

// Tried is the task with its failure passed over.
func (t Task) Tried() Task { t.BestEffort = true; return t }

// AllTried passes over the failures of all.
func AllTried(tasks []Task) []Task {
	tried := slices.Clone(tasks)
	for i := range tried {
		tried[i] = tried[i].Tried()
	}
	return tried
}

// The vocabulary of plans. Plans are stored, so a name keeps its meaning.
const (
	TaskFire           = "fire"            // move the provision state by an event
	TaskFinish         = "finish"          // end an operation that went well
	TaskFailed         = "failed"          // end an operation that failed
	TaskHold           = "hold"            // stop until unhold
	TaskPause          = "pause"           // let time pass
	TaskAwaitHeartbeat = "await-heartbeat" // until the ramdisk calls
	TaskEndInstance    = "end-instance"    // forget the instance
	TaskRefuse         = "refuse"          // fail: no agent can do what it names

	TaskReadPower      = "read-power"
	TaskSetPower       = "power"
	TaskPowerDone      = "power-done" // end a power operation
	TaskReadBootMode   = "read-modes"
	TaskReadSecureBoot = "read-secure-boot"
	TaskReadFirmware   = "read-firmware"
	TaskReadMACs       = "macs" // make ports of the NICs that the BMC knows
	TaskSetBootDevice  = "boot-device"
	TaskSetBIOS        = "set-bios" // keep settings as those of the node
	TaskInsertMedia    = "insert"   // what was published
	TaskEjectMedia     = "eject"    // whatever is inserted

	TaskEnterRamdisk   = "enter-ramdisk"   // the operation runs a ramdisk from here on
	TaskForgetRamdisk  = "boot-fields"     // forget what is known of a ramdisk that is gone
	TaskRestartRamdisk = "boot-again"      // likewise, but keep what the same one will use again
	TaskNewToken       = "new-token"       // make the ramdisk's token
	TaskPublishMedia   = "publish"         // build and serve the ramdisk's medium
	TaskRetractMedia   = "retract"         // remove it
	TaskCallRamdisk    = "ramdisk"         // one call of the ramdisk's own API
	TaskRamdiskSteps   = "ramdisk-steps"   // ask it for its steps
	TaskRamdiskRunning = "ramdisk-running" // until a call that takes long has ended
	TaskAgentStep      = "agent-step"      // have it begin the step under way
	TaskAgentPoll      = "agent-poll"      // until that step has ended

	TaskDriverSteps = "driver-steps" // list the steps of the node's own interfaces
	TaskSteps       = "steps"        // walk along the list
	TaskStepDone    = "step-done"
	TaskFlowStart   = "flow-start" // the list into the history
	TaskFlowEnd     = "flow-end"

	TaskInspectBMC      = "inspect-bmc"
	TaskAwaitInspection = "await-inspection" // until the ramdisk sends its inventory
	TaskFinalizeRescue  = "finalize-rescue"  // give the ramdisk the rescue password
	TaskRescuePassword  = "rescue-password"  // forget it

	TaskTurnConsole = "console-turn" // start or stop it along the way

	// The actions: what is asked for besides verbs and power.
	TaskSetBootMode   = "set-boot-mode"
	TaskSetSecureBoot = "set-secure-boot"
	TaskSetConsole    = "console"
	TaskPublishImage  = "publish-image"
	TaskAttachMedia   = "attach-media"
	TaskDetachMedia   = "detach-media"
	TaskRetractImage  = "retract-image"
	TaskVendorMethod  = "vendor-method"
	TaskActionDone    = "action-done"
)

// Fire is the task that moves the provision state.
func Fire(event metal.Event) Task { return Task{Do: TaskFire, Args: metal.ToJSON(string(event))} }

// SetPower is the task that brings the machine into a power state.
func SetPower(target metal.PowerState) Task {
	return Task{Do: TaskSetPower, Args: metal.ToJSON(metal.SetPowerArgs{Target: target})}
}

// SetBootDevice is the task that sets what the machine starts from.
func SetBootDevice(device string, persistent bool) Task {
	return Task{Do: TaskSetBootDevice, Args: metal.ToJSON(metal.BootDeviceArgs{Device: device, Persistent: persistent})}
}

// RamdiskCall is the argument of TaskCallRamdisk.
type RamdiskCall struct {
	Command string         `json:"command"`
	Params  map[string]any `json:"params"`
}

// CallRamdisk is the task of one call of the ramdisk's API, waited for.
func CallRamdisk(command string, params map[string]any) Task {
	if params == nil {
		params = map[string]any{}
	}
	return Task{Do: TaskCallRamdisk, Args: metal.ToJSON(RamdiskCall{Command: command, Params: params})}
}

// RamdiskPowerOff asks the ramdisk to switch its machine off.
const RamdiskPowerOff = "standby.power_off"

// WaitForCall goes on when the ramdisk calls.
func WaitForCall() []Task {
	return []Task{Fire(metal.EventWait), {Do: TaskAwaitHeartbeat}, Fire(metal.EventResume)}
}

// AgentStep has the ramdisk carry the step under way out.
func AgentStep() []Task {
	return []Task{{Do: TaskAgentStep}, Fire(metal.EventWait), {Do: TaskAgentPoll}, Fire(metal.EventResume)}
}
