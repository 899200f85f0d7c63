package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/metal"
)

// metal3Host is the body with which Metal3's baremetal-operator registers a host.
func metal3Host(boot string) string {
	return fmt.Sprintf(`{"driver": "redfish", "name": "metal3~%[1]s", "boot_interface": %[1]q, "firmware_interface": "redfish",
		"deploy_interface": "direct", "inspect_interface": "agent", "raid_interface": "redfish", "disable_power_off": false,
		"driver_info": {"redfish_address": "https://192.0.2.1", "redfish_system_id": "/redfish/v1/Systems/1",
			"redfish_username": "admin", "redfish_password": "secret", "redfish_verify_ca": false,
			"deploy_kernel": "http://192.0.2.2/k", "deploy_ramdisk": "http://192.0.2.2/r"},
		"instance_info": {"image_source": "http://192.0.2.2/i", "image_checksum": "d41d8cd98f00b204e9800998ecf8427e"},
		"properties": {"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64"}}`, boot)
}

// A host of Metal3's is registered whatever it boots by. What does not need RAID
// or network boot works; what does is refused with what is missing.
func TestMetal3HostsAreRegistered(t *testing.T) {
	s := serve(t)
	s.hosts("agent-1", []metal.Operation{
		metal.PowerGet, metal.PowerSet, metal.BootDeviceGet, metal.BootDeviceSet, metal.FirmwareComponents,
		metal.VirtualMediaInsert, metal.VirtualMediaEject, metal.InspectHardware,
	}, []metal.Operation{metal.MediaPublish, metal.MediaRetract, metal.RamdiskCall})
	const buildRAID = `{"target":"clean","clean_steps":[{"interface":"raid","step":"delete_configuration"},{"interface":"raid","step":"create_configuration"}]}`
	const entries = "boot interface ipxe needs boot.entries, boot.cleanUp"
	const volumes = "step raid.delete_configuration needs raid.clear (driver redfish); step raid.create_configuration needs raid.applyLayout (driver redfish)"
	for i, c := range []struct {
		boot  string
		from  metal.State
		body  string
		lacks string // "": it is taken
	}{
		{"redfish-virtual-media", metal.Enroll, `{"target":"manage"}`, ""},
		{"redfish-virtual-media", metal.Manageable, `{"target":"inspect"}`, ""},
		{"redfish-virtual-media", metal.Manageable, `{"target":"provide"}`, ""},
		{"redfish-virtual-media", metal.Available, `{"target":"active"}`, ""},
		{"redfish-virtual-media", metal.Manageable, buildRAID, volumes},
		{"ipxe", metal.Enroll, `{"target":"manage"}`, ""},
		{"ipxe", metal.Manageable, `{"target":"inspect"}`, entries},
		{"ipxe", metal.Manageable, `{"target":"provide"}`, entries},
		{"ipxe", metal.Available, `{"target":"active"}`, entries},
		{"ipxe", metal.Manageable, buildRAID, volumes},
	} {
		uuid := s.node(strings.Replace(metal3Host(c.boot), "metal3~", fmt.Sprintf("metal3-%d~", i), 1))
		s.ask("latest", http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "52:54:00:00:00:%02x"}`, uuid, i)).want(http.StatusCreated)
		s.put(uuid, func(n *metal.Node) { n.ProvisionState, n.Reservation = c.from, nil })
		a := s.provision(uuid, c.body)
		if c.lacks == "" {
			a.want(http.StatusAccepted)
			continue
		}
		if text := fmt.Sprint(a.want(http.StatusBadRequest).fault()["faultstring"]); !strings.Contains(text, c.lacks) {
			t.Errorf("%s, %s: the refusal does not say %q: %s", c.boot, c.body, c.lacks, text)
		}
	}
}
