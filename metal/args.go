package metal

// The argument and result shapes of operations, as they travel in
// Request.ArgsJSON and CommandResult.ResultJSON. An operation that is not
// listed takes no arguments or returns no value.

// PowerState is Ironic's name of a power state.
type PowerState string

// Power states and power targets (api-behaviour, section 11).
const (
	PowerOn       PowerState = "power on"
	PowerOff      PowerState = "power off"
	Rebooting     PowerState = "rebooting"
	SoftPowerOff  PowerState = "soft power off"
	SoftRebooting PowerState = "soft rebooting"
	PowerUnknown  PowerState = ""
)

// SetPowerArgs asks for one power state. Target is PowerOn, PowerOff or
// SoftPowerOff: a reboot is always two commands, off then on. The agent waits
// until the BMC shows the state, at most TimeoutSeconds. An action that may have
// been sent before has SettleSeconds to show itself; only then is it sent.
type SetPowerArgs struct {
	Target         PowerState `json:"target"`
	TimeoutSeconds int        `json:"timeoutSeconds,omitempty"` // 0: 60
	SettleSeconds  int        `json:"settleSeconds,omitempty"`
}

// PowerResult is the result of power.getPower and power.setPower: the state
// read after acting. PowerUnknown where the BMC gives none.
type PowerResult struct {
	State PowerState `json:"state"`
	// Changed is true when the agent sent the BMC an action, false when the
	// wanted state was there already.
	Changed bool `json:"changed,omitempty"`
	// Health is what a read tells of the machine's hardware as a whole, ""
	// where the BMC does not.
	Health Health `json:"health,omitempty"`
}

// Health is the state of a machine's hardware (Ironic: common/health_states).
type Health string

// The states of health.
const (
	HealthOK       Health = "OK"
	HealthWarning  Health = "Warning"
	HealthCritical Health = "Critical"
)

// BootDeviceArgs is the argument of management.setBootDevice and the result of
// getBootDevice. Device is Ironic's name: pxe, disk, cdrom, bios, uefihttp.
type BootDeviceArgs struct {
	Device     string `json:"device"`
	Persistent bool   `json:"persistent"`
}

// BootModeArgs is the argument of management.setBootMode and the result of
// getBootMode: bios or uefi.
type BootModeArgs struct {
	Mode string `json:"mode"`
}

// SecureBootArgs is the argument of management.setSecureBoot and the result of
// getSecureBoot.
type SecureBootArgs struct {
	Enabled bool `json:"enabled"`
}

// InsertMediaArgs is the argument of virtual-media.insert. Device is cdrom,
// floppy or disk.
type InsertMediaArgs struct {
	Device   string `json:"device"`
	ImageURL string `json:"imageUrl"`
}

// EjectMediaArgs is the argument of virtual-media.eject; no devices means all.
type EjectMediaArgs struct {
	Devices []string `json:"devices,omitempty"`
}

// MediaStatus is the result of virtual-media.status, one entry a device.
type MediaStatus struct {
	Devices []MediaDevice `json:"devices"`
}

// MediaDevice is one virtual-media slot.
type MediaDevice struct {
	ID         string   `json:"id"`
	MediaTypes []string `json:"mediaTypes"`
	Inserted   bool     `json:"inserted"`
	Image      string   `json:"image,omitempty"`
}

// MACsResult is the result of inspect.macs: lower-case, with colons, in the
// BMC's order, things that are no MAC left out.
type MACsResult struct {
	MACs []string `json:"macs"`
}

// InspectResult is the result of inspect.inspect: what an out-of-band read of
// the BMC tells, in the form of the ramdisk's inventory (ipa-protocol, 7).
type InspectResult struct {
	Inventory  Inventory         `json:"inventory"`
	Properties map[string]string `json:"properties"` // cpu_arch, memory_mb, local_gb, vendor; "" values left out
	BootMode   string            `json:"bootMode,omitempty"`
}

// PublishMediaArgs is the argument of media.publish: build an ISO from kernel
// and ramdisk (or fetch a pre-built one) and serve it under a grant URL.
type PublishMediaArgs struct {
	Name          string            `json:"name"` // file name of the ISO under the grant, "boot-<uuid>.iso"
	KernelURL     string            `json:"kernelUrl,omitempty"`
	RamdiskURL    string            `json:"ramdiskUrl,omitempty"`
	BootloaderURL string            `json:"bootloaderUrl,omitempty"`
	ISOURL        string            `json:"isoUrl,omitempty"`       // pre-built: nothing is injected
	KernelParams  []string          `json:"kernelParams,omitempty"` // key=value words; {relay} in a value becomes the agent's relay URL, {proof} the token's InspectionProof
	Token         string            `json:"token,omitempty"`        // the ramdisk's, put on the kernel line as ipa-agent-token; a secret parameter, see TokenParam
	Files         map[string]string `json:"files,omitempty"`        // path in the ISO → base64 content
	Label         string            `json:"label,omitempty"`        // volume label, default VMEDIA_BOOT_ISO
	BootMode      string            `json:"bootMode,omitempty"`
}

// PublishMediaResult is where the media can be fetched by the BMC.
type PublishMediaResult struct {
	URL string `json:"url"`
}

// RetractMediaArgs is the argument of media.retract; a name that is not
// published is no error.
type RetractMediaArgs struct {
	Name string `json:"name"`
}

// RamdiskCallArgs is the argument of ramdisk.call: one request to the API of
// the node's ramdisk (ipa-protocol, 5). With Method GET it lists commands.
type RamdiskCallArgs struct {
	AgentURL string         `json:"agentUrl"`           // the callback URL of the heartbeat
	VerifyCA string         `json:"verifyCa,omitempty"` // PEM from the heartbeat
	Token    string         `json:"token,omitempty"`    // the ramdisk's; a secret parameter, see TokenParam
	Command  string         `json:"command,omitempty"`  // "clean.execute_clean_step"; "" lists the commands
	Params   map[string]any `json:"params,omitempty"`
	Wait     bool           `json:"wait,omitempty"` // wait=true: answer when it is done
	// ConfigDrive says that what comes to ConfigDriveParam is a config drive: the
	// agent builds it where it is given as a description.
	ConfigDrive bool `json:"configDrive,omitempty"`
}

// RamdiskCallResult is the ramdisk's answer: one command, or the whole list.
type RamdiskCallResult struct {
	Busy     bool             `json:"busy,omitempty"` // 409 "Agent is busy": try again at the next heartbeat
	Command  *RamdiskCommand  `json:"command,omitempty"`
	Commands []RamdiskCommand `json:"commands,omitempty"`
}

// Find is the command with this id in the list, nil where it is missing.
func (r RamdiskCallResult) Find(id string) *RamdiskCommand {
	for i := range r.Commands {
		if r.Commands[i].ID == id {
			return &r.Commands[i]
		}
	}
	return nil
}

// RamdiskRunning is the status of a command that has not ended.
const RamdiskRunning = "RUNNING"

// RamdiskCommand is one entry of the ramdisk's command list.
type RamdiskCommand struct {
	ID     string         `json:"id"`
	Name   string         `json:"command_name"`   // without the extension's prefix
	Status string         `json:"command_status"` // RUNNING, SUCCEEDED, FAILED, CLEAN_VERSION_MISMATCH
	Error  map[string]any `json:"command_error"`
	Result map[string]any `json:"command_result"`
}

// WatchArgs is the argument of a bmc.watch command: read the power each
// interval until the lease ends, and report what changes.
type WatchArgs struct {
	IntervalSeconds int `json:"intervalSeconds"`
	LeaseSeconds    int `json:"leaseSeconds"`
}

// VendorCallArgs is the argument of vendor.call.
type VendorCallArgs struct {
	Method     string         `json:"method"`
	HTTPMethod string         `json:"httpMethod"`
	Arguments  map[string]any `json:"arguments,omitempty"`
}

// VendorCallResult is the result of vendor.call.
type VendorCallResult struct {
	Return any `json:"return"`
}
