package hardware

import "ferrule/metal"

// agentRAID leaves RAID to the ramdisk, whose steps build it.
var agentRAID = Interface{
	Type: metal.RAIDInterface, Name: "agent", Ramdisk: true,
	RAID: usualRAID,
}
