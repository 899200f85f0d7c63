package hardware

import "ferrule/metal"

// redfishRAID builds logical disks through the BMC.
var redfishRAID = Interface{
	Type: metal.RAIDInterface, Name: "redfish", Unserved: true,
	Properties: redfishProperties,
	Needs:      []metal.Operation{metal.RAIDGet},
	Validate:   reachable(redfishRequest),
	Driver:     "redfish",
	Request:    redfishRequest,
	RAID:       RAID{LogicalDisks: usualRAID.LogicalDisks, Check: checkRedfishRAID},
	Steps: []Step{
		inRamdisk(unserved(metal.RAIDInterface, "apply_configuration", applyRAIDInfo, metal.RAIDApply), metal.DeploySteps, metal.ServiceSteps),
		inRamdisk(unserved(metal.RAIDInterface, "create_configuration", createRAIDInfo, metal.RAIDApply), metal.CleanSteps),
		inRamdisk(unserved(metal.RAIDInterface, "delete_configuration", nil, metal.RAIDClear), metal.CleanSteps, metal.DeploySteps, metal.ServiceSteps),
	},
}

// checkRedfishRAID refuses what Redfish has no word for.
func checkRedfishRAID(config map[string]any) error {
	if err := checkRAIDConfig(config); err != nil {
		return err
	}
	disks, _ := config["logical_disks"].([]any)
	for _, disk := range disks {
		if d, _ := disk.(map[string]any); d["interface_type"] == "scsi" {
			return metal.Errorf(metal.Invalid, "interface type `scsi` not supported by Redfish RAID: choose sata or sas, or leave interface_type out.")
		}
	}
	return nil
}

var createRAIDInfo = map[string]any{
	"create_root_volume":     argument("Whether to create the root volume. Defaults to true.", false),
	"create_nonroot_volumes": argument("Whether to create the other volumes. Defaults to true.", false),
	"delete_existing":        argument("Whether to delete the present volumes first. Defaults to false.", false),
}

var applyRAIDInfo = map[string]any{
	"raid_config":            argument("The RAID configuration to apply.", true),
	"create_root_volume":     argument("Whether to create the root volume of raid_config. Defaults to true.", false),
	"create_nonroot_volumes": argument("Whether to create the other volumes of raid_config. Defaults to false.", false),
	"delete_existing":        argument("Whether to delete the present volumes first. Defaults to false.", false),
}

func argument(description string, required bool) map[string]any {
	return map[string]any{"description": description, "required": required}
}
