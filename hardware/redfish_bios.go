package hardware

import "ferrule/metal"

// redfishBIOS changes the BIOS settings through the BMC.
var redfishBIOS = Interface{
	Type: metal.BIOSInterface, Name: "redfish", Unserved: true,
	Properties: redfishProperties,
	Needs:      []metal.Operation{metal.BIOSGet},
	Validate:   reachable(redfishRequest),
	Driver:     "redfish",
	Request:    redfishRequest,
	Steps: []Step{
		unserved(metal.BIOSInterface, "factory_reset", nil, metal.BIOSReset),
		unserved(metal.BIOSInterface, "apply_configuration", settingsInfo, metal.BIOSApply),
	},
}
