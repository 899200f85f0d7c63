package hardware

import "ferrule/metal"

var redfishManagement = Interface{
	Type: metal.ManagementInterface, Name: "redfish",
	Properties: redfishProperties,
	Needs:      []metal.Operation{metal.BootDeviceGet, metal.BootDeviceSet},
	Offers: []metal.Operation{
		metal.BootModeGet, metal.BootModeSet, metal.SecureBootGet, metal.SecureBootSet, metal.IndicatorsGet, metal.IndicatorSet,
		metal.NMIInject, metal.VirtualMediaStatus, metal.VirtualMediaInsert, metal.VirtualMediaEject, metal.SensorsGet, metal.InspectMACs,
	},
	Validate: reachable(redfishRequest),
	Driver:   "redfish",
	Request:  redfishRequest,
	Management: Management{
		BootDevices:    []string{"pxe", "disk", "cdrom", "bios", "uefihttp"},
		SetsBootDevice: true,
		TellsHealth:    true,
		KnowsBMC:       true,
	},
}
