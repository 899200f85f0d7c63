package hardware_test

import (
	"testing"

	"ferrule/hardware"
	"ferrule/metal"
)

func TestCheckRAIDConfig(t *testing.T) {
	n := &metal.Node{Driver: "fake-hardware", RAIDInterface: "fake"}
	for config, valid := range map[string]bool{
		`{"logical_disks":[{"size_gb":10,"raid_level":"1"}]}`:                                        true,
		`{"logical_disks":[{"size_gb":"MAX","raid_level":"6+0","is_root_volume":true}]}`:             true,
		`{"logical_disks":[{"size_gb":1e1,"raid_level":"JBOD"}]}`:                                    true,
		`{"logical_disks":[{"size_gb":1,"raid_level":"1","controller":"c","physical_disks":["a"]}]}`: true,
		`{"logical_disks":[{"size_gb":1,"raid_level":"1","physical_disks":["a"]}]}`:                  false,
		`{"logical_disks":[]}`: false,
		`{"other":1}`:          false,
		`{"logical_disks":[{"size_gb":1.5,"raid_level":"1"}]}`:                                                                          false,
		`{"logical_disks":[{"size_gb":99999999999999999999999,"raid_level":"1","number_of_physical_disks":true}]}`:                      false,
		`{"logical_disks":[{"size_gb":1,"raid_level":"1","is_root_volume":true},{"size_gb":1,"raid_level":"1","is_root_volume":true}]}`: false,
	} {
		if err := catalogue(t, hardware.Enabled{}).Machine(n).CheckRAIDConfig(metal.JSON(config).Object()); (err == nil) != valid {
			t.Errorf("%s: %v", config, err)
		}
	}
	n.RAIDInterface = "no-raid"
	if catalogue(t, hardware.Enabled{}).Machine(n).CheckRAIDConfig(map[string]any{}) == nil {
		t.Error("no-raid takes a configuration")
	}
}
