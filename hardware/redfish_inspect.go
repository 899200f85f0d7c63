package hardware

import "ferrule/metal"

// redfishInspect asks the BMC; the machine is not touched.
var redfishInspect = Interface{
	Type: metal.InspectInterface, Name: "redfish",
	Properties: redfishProperties,
	Needs:      []metal.Operation{metal.InspectHardware},
	Offers:     []metal.Operation{metal.InspectMACs},
	Validate:   reachable(redfishRequest),
	Driver:     "redfish",
	Request:    redfishRequest,
	Inspect: Inspect{
		Tasks: func(Machine, Inspection) []Task { return []Task{{Do: TaskInspectBMC}} },
	},
}
