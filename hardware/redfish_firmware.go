package hardware

import "ferrule/metal"

// redfishFirmware keeps a list of the components that have firmware.
var redfishFirmware = Interface{
	Type: metal.FirmwareInterface, Name: "redfish",
	Properties: redfishProperties,
	Needs:      []metal.Operation{metal.FirmwareComponents},
	Validate:   reachable(redfishRequest),
	Driver:     "redfish",
	Request:    redfishRequest,
	Refresh:    []Task{Task{Do: TaskReadFirmware}.Tried()},
}
