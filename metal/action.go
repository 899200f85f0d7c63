package metal

import "slices"

// Action is what an operation of AxisAction does: work on the hardware behind
// an answer that has been given already, which moves neither the provision
// state nor the power.
type Action string

// The actions.
const (
	ActionBootMode    Action = "boot mode"
	ActionSecureBoot  Action = "secure boot"
	ActionConsole     Action = "console"
	ActionAttachMedia Action = "attach media"
	ActionDetachMedia Action = "detach media"
	ActionVendor      Action = "vendor method"

	// ActionBootInstance leaves the ramdisk that a failed service left up.
	ActionBootInstance Action = "boot instance"
)

// ConsoleArgs is the argument of ActionConsole.
type ConsoleArgs struct {
	Enabled bool `json:"enabled"`
}

// AttachMediaArgs is the argument of ActionAttachMedia. DownloadSource is http
// (the BMC fetches the image itself) or local (the site agent serves it).
type AttachMediaArgs struct {
	Device         string `json:"device"`
	ImageURL       string `json:"imageUrl"`
	DownloadSource string `json:"downloadSource"`
}

// MediaDevices are the kinds of virtual media, by Ironic's names.
func MediaDevices() []string { return []string{"disk", "cdrom", "floppy"} }

// managementOperations are the operations of each management interface beyond
// the boot device, and Ironic's name of each.
var managementOperations = map[string][]Operation{
	"redfish": {
		BootModeGet, BootModeSet, SecureBootGet, SecureBootSet, IndicatorsGet, IndicatorSet, NMIInject,
		VirtualMediaStatus, VirtualMediaInsert, VirtualMediaEject, SensorsGet,
	},
	"fake": {IndicatorsGet, SensorsGet},
}

var operationNames = map[Operation]string{
	BootModeSet: "set_boot_mode", SecureBootSet: "set_secure_boot_state", NMIInject: "inject_nmi",
	IndicatorsGet: "get_supported_indicators", IndicatorSet: "set_indicator_state",
	VirtualMediaStatus: "get_virtual_media", VirtualMediaInsert: "attach_virtual_media", VirtualMediaEject: "detach_virtual_media",
}

// CheckManagement refuses an operation that the node's management interface
// does not have.
func CheckManagement(n *Node, op Operation) error {
	if slices.Contains(managementOperations[n.ManagementInterface], op) {
		return nil
	}
	name := operationNames[op]
	if name == "" {
		name = string(op)
	}
	return Unsupported(n, name)
}
