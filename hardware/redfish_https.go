package hardware

import "ferrule/metal"

// redfishHTTPS has the BMC point the machine's firmware at an ISO.
var redfishHTTPS = Interface{
	Type: metal.BootInterface, Name: "redfish-https", Unserved: true,
	Properties:   []Property{ramdiskProperty("deploy_kernel"), ramdiskProperty("deploy_ramdisk"), ramdiskProperty("deploy_iso")},
	Needs:        []metal.Operation{metal.BootEntriesSet, metal.MediaPublish, metal.MediaRetract, metal.RamdiskCall},
	Capabilities: []string{"ramdisk_boot"},
	Validate:     redfishVirtualMedia.Validate,
	Boot: Boot{
		Inspects: true,
		Prepare:  func([]string) []Task { return []Task{refuse("boot interface redfish-https")} },
		Again:    func() []Task { return []Task{refuse("boot interface redfish-https")} },
	},
}
