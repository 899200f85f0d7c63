package runner

import (
	"fmt"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

// stepSucceeded does what follows from a step of the ramdisk's besides the next
// one: RAID steps change what is known of the node, and some steps need the
// machine started anew.
func (r *run) stepSucceeded(last metal.RamdiskCommand) error {
	s := *r.step()
	if s.RebootRequested {
		// The wait that is under way ends first.
		r.push(append([]task{hardware.Fire(metal.EventResume)}, r.machine().RebootRamdisk()...)...)
	}
	if s.Interface != "raid" {
		return nil
	}
	switch s.Step {
	case "create_configuration", "apply_configuration":
		return r.raidBuilt(last.Result[string(r.kind())+"_result"])
	case "delete_configuration":
		r.node.RAIDConfig = metal.EmptyObject
	}
	return nil
}

// raidBuilt stores the configuration that was built, and what follows from its
// root volume (Ironic: common/raid.update_raid_info).
func (r *run) raidBuilt(built any) error {
	config, ok := built.(map[string]any)
	if !ok {
		return fmt.Errorf("the ramdisk did not tell which RAID configuration it has built")
	}
	config["last_updated"] = r.Now.Format(time.DateTime)
	r.node.RAIDConfig = metal.ToJSON(config)
	disks, _ := config["logical_disks"].([]any)
	for _, item := range disks {
		disk, _ := item.(map[string]any)
		if root, _ := disk["is_root_volume"].(bool); !root {
			continue
		}
		if size := disk["size_gb"]; size != nil && size != "MAX" {
			r.node.Properties = r.node.Properties.With("local_gb", size)
		}
		if hint := disk["root_device_hint"]; hint != nil {
			r.node.Properties = r.node.Properties.With("root_device", hint)
		}
		capabilities := metal.WithCapability(r.node.Properties.Text("capabilities"), "raid_level", fmt.Sprint(disk["raid_level"]))
		r.node.Properties = r.node.Properties.With("capabilities", capabilities)
	}
	return nil
}
