package hardware

import "ferrule/metal"

// The implementations that stand for the lack of an interface.
var (
	noBIOS     = Interface{Type: metal.BIOSInterface, Name: "no-bios", Absent: true}
	noConsole  = Interface{Type: metal.ConsoleInterface, Name: "no-console", Absent: true}
	noFirmware = Interface{Type: metal.FirmwareInterface, Name: "no-firmware", Absent: true}
	noInspect  = Interface{Type: metal.InspectInterface, Name: "no-inspect", Absent: true}
	noRAID     = Interface{Type: metal.RAIDInterface, Name: "no-raid", Absent: true}
	noRescue   = Interface{Type: metal.RescueInterface, Name: "no-rescue", Absent: true}
	noVendor   = Interface{Type: metal.VendorInterface, Name: "no-vendor", Absent: true}
)
