package lab_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/image"
)

// ironicConf is what real Ironic needs to drive a Redfish server. The two
// addresses are asked for, but a pre-built medium leaves them unused.
const ironicConf = `[DEFAULT]
enabled_hardware_types = redfish
enabled_boot_interfaces = redfish-virtual-media
enabled_deploy_interfaces = direct
enabled_management_interfaces = redfish
enabled_power_interfaces = redfish
enabled_network_interfaces = noop
enabled_inspect_interfaces = agent
enabled_raid_interfaces = no-raid
enabled_bios_interfaces = no-bios
enabled_vendor_interfaces = no-vendor
enabled_console_interfaces = no-console
enabled_storage_interfaces = noop
enabled_rescue_interfaces = no-rescue
enabled_firmware_interfaces = no-firmware
[service_catalog]
endpoint_override = http://127.0.0.1:1
[deploy]
http_url = http://127.0.0.1:1
ramdisk_image_download_source = http
`

// TestRealIronicTakesAServerThroughItsLife is the lab's own judge: what real
// Ironic cannot drive would prove nothing about anything else.
func TestRealIronicTakesAServerThroughItsLife(t *testing.T) {
	if testing.Short() {
		t.Skip("real Ironic takes minutes")
	}
	p := newPlane(t) // serves the files
	_, s := start(t, lab.Config{DiskSize: 96 << 20})
	o := &operator{t: t, url: env.RealIronic(t, ironicConf).URL, server: s}
	raw, err := image.GPT(9)
	if err != nil {
		t.Fatal(err)
	}
	content := image.Qcow2(raw)
	o.enrol(imageInfo(p.publish("image.qcow2", content), "qcow2", content))
	o.do("manage", nil, "manageable")
	o.bootWith(p.iso("boot_method=vmedia ipa-inspection-callback-url="+o.url+"/v1/continue_inspection", nil))
	// The call answers from "inspecting" on; "inspect wait" may be over before
	// anyone asks.
	o.do("inspect", nil, "manageable")
	o.bootWith(p.iso("boot_method=vmedia ipa-api-url="+o.url, nil))
	o.do("provide", nil, "available")
	o.do("active", map[string]any{"configdrive": configDrive(t, o.node)}, "active")
	await(t, s, event.Booted)
	if w := s.Snapshot().Image; w == nil || w.SHA256 != image.SHA256(raw) || w.NodeUUID != o.node {
		t.Errorf("on the disk: %+v", w)
	}
	o.do("deleted", nil, "available")
	if w := s.Snapshot().Image; w != nil {
		t.Errorf("on the disk after cleaning: %+v", w)
	}
	inventory := o.call(http.MethodGet, "/v1/nodes/"+o.node+"/inventory", nil)["inventory"].(map[string]any)
	if vendor := inventory["system_vendor"].(map[string]any); vendor["serial_number"] != s.Identity().Serial {
		t.Errorf("inventory: %v", vendor)
	}
}

// operator drives one node of real Ironic.
type operator struct {
	t      *testing.T
	url    string
	node   string
	server *lab.Server
}

func (o *operator) call(method, path string, body any) map[string]any {
	o.t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(o.t.Context(), method, o.url+path, bytes.NewReader(content))
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.95")
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > 299 {
		o.t.Fatalf("%s %s: %d: %s (%v)", method, path, resp.StatusCode, answer, err)
	}
	doc := map[string]any{}
	if len(answer) > 0 {
		if err := json.Unmarshal(answer, &doc); err != nil {
			o.t.Fatal(err)
		}
	}
	return doc
}

func (o *operator) enrol(info map[string]any) {
	o.t.Helper()
	id := o.server.Identity()
	username, password := o.server.Credentials()
	node := o.call(http.MethodPost, "/v1/nodes", map[string]any{
		"driver": "redfish",
		"driver_info": map[string]any{
			"redfish_address": id.RedfishAddress, "redfish_system_id": id.SystemID, "redfish_verify_ca": false,
			"redfish_username": username, "redfish_password": password,
		},
		"instance_info": map[string]any{
			"image_source": info["urls"].([]string)[0], "image_disk_format": info["disk_format"],
			"image_os_hash_algo": info["os_hash_algo"], "image_os_hash_value": info["os_hash_value"],
		},
	})
	o.node = node["uuid"].(string)
	o.call(http.MethodPost, "/v1/ports", map[string]any{"node_uuid": o.node, "address": id.NICs[0].MAC})
}

// bootWith gives the node its medium.
func (o *operator) bootWith(url string) {
	o.t.Helper()
	o.call(http.MethodPatch, "/v1/nodes/"+o.node, []any{
		map[string]any{"op": "add", "path": "/driver_info/deploy_iso", "value": url},
	})
}

func (o *operator) do(target string, more map[string]any, state string) {
	o.t.Helper()
	body := map[string]any{"target": target}
	for k, v := range more {
		body[k] = v
	}
	o.call(http.MethodPut, "/v1/nodes/"+o.node+"/states/provision", body)
	o.await(state)
}

// await asks until the node is in a state.
func (o *operator) await(state string) {
	o.t.Helper()
	deadline := time.NewTimer(5 * time.Minute)
	defer deadline.Stop()
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		node := o.call(http.MethodGet, "/v1/nodes/"+o.node, nil)
		if node["provision_state"] == state {
			tick.Stop()
			return
		}
		if node["last_error"] != nil {
			events, _ := o.server.Events.Since(0)
			o.t.Fatalf("on the way to %s: %v; the server saw %v", state, node["last_error"], events)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			events, _ := o.server.Events.Since(0)
			o.t.Fatalf("%v, never %s; the server saw %v", node["provision_state"], state, events)
		}
	}
}
