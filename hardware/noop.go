package hardware

import "ferrule/metal"

// The noop implementations take what they are asked for and do nothing.

var noopDeploy = Interface{
	Type: metal.DeployInterface, Name: "noop",
	Steps: []Step{deployStep("deploy", 100, nil)},
}

// noopManagement trusts that the machine starts as it should.
var noopManagement = Interface{
	Type: metal.ManagementInterface, Name: "noop",
	Management: Management{
		BootDevices: []string{"pxe", "disk"},
		Fixed:       &metal.BootDeviceArgs{Device: "pxe", Persistent: true},
	},
}

var noopNetwork = Interface{Type: metal.NetworkInterface, Name: "noop"}

var noopStorage = Interface{Type: metal.StorageInterface, Name: "noop"}
