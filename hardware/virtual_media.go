package hardware

import "ferrule/metal"

// redfishVirtualMedia boots a ramdisk from an ISO that the agent builds and
// serves, and that the BMC inserts.
var redfishVirtualMedia = Interface{
	Type: metal.BootInterface, Name: "redfish-virtual-media",
	Properties: append(redfishProperties[:len(redfishProperties):len(redfishProperties)], ramdiskProperties...),
	Needs: []metal.Operation{
		metal.VirtualMediaInsert, metal.VirtualMediaEject, metal.MediaPublish, metal.MediaRetract, metal.RamdiskCall,
	},
	Capabilities: []string{"iscsi_volume_boot", "ramdisk_boot", "ramdisk_boot_configdrive"},
	Validate: func(m Machine) error {
		if _, err := redfishRequest(m.Node); err != nil {
			return err
		}
		_, err := m.DeployRamdisk()
		return err
	},
	Driver:  "redfish",
	Request: redfishRequest,
	Boot: Boot{
		Inspects: true,
		Prepare: func(params []string) []Task {
			return []Task{
				Task{Do: TaskEjectMedia}.Tried(),
				{Do: TaskNewToken},
				{Do: TaskPublishMedia, Args: metal.ToJSON(params)},
				{Do: TaskInsertMedia},
				SetBootDevice("cdrom", false),
			}
		},
		Again: func() []Task { return []Task{SetBootDevice("cdrom", false)} },
		Leave: func() []Task { return []Task{Task{Do: TaskEjectMedia}.Tried(), {Do: TaskRetractMedia}} },
	},
}
