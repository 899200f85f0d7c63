package hardware

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
)

var raidLevels = []string{"JBOD", "0", "1", "2", "5", "6", "1+0", "5+0", "6+0"}

// usualRAID is RAID as most interfaces have it (Ironic: drivers/raid_config_schema.json).
var usualRAID = RAID{
	LogicalDisks: map[string]string{
		"raid_level":               "RAID level of the logical disk: JBOD, 0, 1, 2, 5, 6, 1+0, 5+0 or 6+0. Required.",
		"size_gb":                  "Size in GiB, or MAX for all that is free. Required.",
		"volume_name":              "Name of the volume; made up where it is missing.",
		"is_root_volume":           "true where the operating system is to be on this disk; at most one has it.",
		"share_physical_disks":     "true where other logical disks may use the same physical disks.",
		"disk_type":                "Sort of physical disk: hdd or ssd.",
		"interface_type":           "Interface of the physical disks: sata, scsi or sas.",
		"number_of_physical_disks": "How many physical disks to use.",
		"controller":               "Controller to use.",
		"physical_disks":           "Physical disks to use, as the driver names them.",
	},
	Check: checkRAIDConfig,
}

// CheckRAIDConfig checks a target RAID configuration as the node's RAID
// interface takes it.
func (m Machine) CheckRAIDConfig(config map[string]any) error {
	if check := m.Row(metal.RAIDInterface).RAID.Check; check != nil {
		return check(config)
	}
	return Unsupported(m.Node, "raid")
}

func checkRAIDConfig(config map[string]any) error {
	for key := range config {
		if key != "logical_disks" {
			return raidError("%q is not known; logical_disks is", key)
		}
	}
	disks, ok := config["logical_disks"].([]any)
	if !ok || len(disks) == 0 {
		return raidError("logical_disks has to be a list of one disk or more")
	}
	roots := 0
	for i, item := range disks {
		disk, ok := item.(map[string]any)
		if !ok {
			return raidError("logical disk %d is not an object", i)
		}
		if err := checkLogicalDisk(disk); err != nil {
			return raidError("logical disk %d: %s", i, err)
		}
		if root, _ := disk["is_root_volume"].(bool); root {
			roots++
		}
	}
	if roots > 1 {
		return raidError("it cannot have more than one root volume, and has %d", roots)
	}
	return nil
}

func raidError(format string, args ...any) error {
	return metal.Errorf(metal.Invalid, "RAID config validation error: %s.", fmt.Sprintf(format, args...))
}

func checkLogicalDisk(disk map[string]any) error {
	for _, key := range []string{"raid_level", "size_gb"} {
		if _, ok := disk[key]; !ok {
			return fmt.Errorf("%s is missing", key)
		}
	}
	for key, v := range disk {
		if err := checkDiskProperty(key, v); err != nil {
			return err
		}
	}
	_, physical := disk["physical_disks"]
	_, controller := disk["controller"]
	if physical && !controller {
		return fmt.Errorf("physical_disks needs a controller")
	}
	return nil
}

func checkDiskProperty(key string, v any) error {
	oneOf := func(values ...string) error {
		if s, ok := v.(string); ok && slices.Contains(values, s) {
			return nil
		}
		return fmt.Errorf("%s is one of %s", key, strings.Join(values, ", "))
	}
	switch key {
	case "raid_level":
		return oneOf(raidLevels...)
	case "disk_type":
		return oneOf("hdd", "ssd")
	case "interface_type":
		return oneOf("sata", "scsi", "sas")
	case "size_gb":
		if v != "MAX" && !wholeNumber(v, 0) {
			return fmt.Errorf("size_gb is a whole number, or MAX")
		}
	case "number_of_physical_disks":
		if !wholeNumber(v, 1) {
			return fmt.Errorf("number_of_physical_disks is a whole number from 1 up")
		}
	case "volume_name", "controller":
		if _, ok := v.(string); !ok {
			return fmt.Errorf("%s is a text", key)
		}
	case "is_root_volume", "share_physical_disks":
		if _, ok := v.(bool); !ok {
			return fmt.Errorf("%s is true or false", key)
		}
	case "physical_disks":
		return checkPhysicalDisks(v)
	default:
		return fmt.Errorf("%q is not known", key)
	}
	return nil
}

// checkPhysicalDisks takes a list of names, or one of two and more hints.
func checkPhysicalDisks(v any) error {
	list, ok := v.([]any)
	names, hints := 0, 0
	for _, item := range list {
		switch item.(type) {
		case string:
			names++
		case map[string]any:
			hints++
		}
	}
	if !ok || names != len(list) && (hints != len(list) || hints < 2) {
		return fmt.Errorf("physical_disks is a list of names, or of two and more objects")
	}
	return nil
}

// wholeNumber takes what JSON Schema calls an integer: 1.0 is one.
func wholeNumber(v any, least float64) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	return err == nil && f == float64(int64(f)) && f >= least
}
