package hardware

import "ferrule/metal"

var redfishPower = Interface{
	Type: metal.PowerInterface, Name: "redfish",
	Properties: redfishProperties,
	Needs:      []metal.Operation{metal.PowerGet, metal.PowerSet},
	Validate:   reachable(redfishRequest),
	Driver:     "redfish",
	Request:    redfishRequest,
	Power:      Power{Targets: allPowerTargets},
}

// allPowerTargets are those of an interface that can do all.
var allPowerTargets = []metal.PowerState{metal.PowerOn, metal.PowerOff, metal.Rebooting, metal.SoftRebooting, metal.SoftPowerOff}
