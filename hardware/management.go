package hardware

import (
	"slices"

	"ferrule/metal"
)

// managementOperations are the operations of each management interface beyond
// the boot device, and Ironic's name of each.
var managementOperations = map[string][]metal.Operation{
	"redfish": {
		metal.BootModeGet, metal.BootModeSet, metal.SecureBootGet, metal.SecureBootSet, metal.IndicatorsGet, metal.IndicatorSet, metal.NMIInject,
		metal.VirtualMediaStatus, metal.VirtualMediaInsert, metal.VirtualMediaEject, metal.SensorsGet,
	},
	"fake": {metal.IndicatorsGet, metal.SensorsGet},
}

var operationNames = map[metal.Operation]string{
	metal.BootModeSet: "set_boot_mode", metal.SecureBootSet: "set_secure_boot_state", metal.NMIInject: "inject_nmi",
	metal.IndicatorsGet: "get_supported_indicators", metal.IndicatorSet: "set_indicator_state",
	metal.VirtualMediaStatus: "get_virtual_media", metal.VirtualMediaInsert: "attach_virtual_media", metal.VirtualMediaEject: "detach_virtual_media",
}

// CheckManagement refuses an operation that the node's management interface
// does not have.
func CheckManagement(n *metal.Node, op metal.Operation) error {
	if slices.Contains(managementOperations[n.ManagementInterface], op) {
		return nil
	}
	name := operationNames[op]
	if name == "" {
		name = string(op)
	}
	return Unsupported(n, name)
}
