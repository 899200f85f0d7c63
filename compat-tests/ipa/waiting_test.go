package ipa_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
)

// conf lets fake hardware wait for a ramdisk that boots by itself.
const conf = `[DEFAULT]
enabled_hardware_types = fake-hardware,redfish
enabled_boot_interfaces = fake,redfish-virtual-media
enabled_deploy_interfaces = direct,fake
enabled_management_interfaces = fake,redfish
enabled_power_interfaces = fake,redfish
enabled_inspect_interfaces = agent,no-inspect
[inspector]
require_managed_boot = false
`

const mac = "52:54:00:1a:00:01"

// patience is far more than any step here takes.
const patience = time.Minute

// enrol makes a manageable node of fake hardware that has a port.
func enrol(p *plane.Plane, name, mac string) string {
	node := p.Must(http.MethodPost, "/v1/nodes", object{
		"name": name, "driver": "fake-hardware", "deploy_interface": "direct", "boot_interface": "fake", "inspect_interface": "agent",
	})
	p.Must(http.MethodPost, "/v1/ports", object{"node_uuid": node["uuid"], "address": mac})
	p.Provision(name, "manage", nil)
	p.AwaitState(name, "manageable", patience)
	return fmt.Sprint(node["uuid"])
}

func TestTheAgentSeesTheNewestVersionThatItKnows(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts the agent")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{})
	seen := newAgent(t, p.URL, mac).do("versions", nil)
	if fmt.Sprint(seen["version"]) != "[1 115]" || seen["auto_tls"] != true {
		t.Errorf("the agent sees %v", seen)
	}
}

func TestTheAgentOfACleaningNode(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts the agent")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{Config: conf})
	uuid := enrol(p, "cleaned", mac)
	a := newAgent(t, p.URL, mac)
	if _, failed := a.ask("lookup", object{"timeout": 0}); !strings.Contains(failed, "LookupNodeError") {
		t.Errorf("a node that awaits no agent is found: %q", failed)
	}
	p.Provision("cleaned", "provide", nil)
	p.AwaitState("cleaned", "clean wait", patience)
	if _, failed := newAgent(t, p.URL, "52:54:00:1a:00:99").ask("lookup", object{"timeout": 0}); !strings.Contains(failed, "LookupNodeError") {
		t.Errorf("a stranger is found: %q", failed)
	}
	token := firstLookup(t, a, uuid)
	secondLookup(t, p, uuid)

	for what, with := range map[string]object{
		"a wrong token":          {"token": strings.Repeat("x", len(token))},
		"no token":               {"token": " "},
		"an address without TLS": {"protocol": "http"},
	} {
		if _, failed := a.ask("heartbeat", with); !strings.Contains(failed, "Error 400") {
			t.Errorf("with %s: %q", what, failed)
		}
	}
	beat := a.do("heartbeat", nil)
	node := p.Await("cleaned", "the heartbeat", patience, func(n map[string]any) bool {
		info, _ := n["driver_internal_info"].(object)
		return info["agent_last_heartbeat"] != nil
	})
	info, _ := node["driver_internal_info"].(object)
	if !strings.HasPrefix(fmt.Sprint(info["agent_url"]), "https://127.0.0.1:") || info["agent_version"] != beat["version"] {
		t.Errorf("the heartbeat left %v", info)
	}
	if info["agent_secret_token"] != "******" {
		t.Errorf("the token is shown as %v", info["agent_secret_token"])
	}
}

// firstLookup gives the token, which is told this once.
func firstLookup(t *testing.T, a *agent, uuid string) string {
	t.Helper()
	found := a.do("lookup", nil)
	content, _ := found["content"].(object)
	node, _ := content["node"].(object)
	config, _ := content["config"].(object)
	if node["uuid"] != uuid {
		t.Errorf("lookup finds %v", node)
	}
	if config["heartbeat_timeout"] != 300.0 || config["agent_token_required"] != true {
		t.Errorf("the agent is told %v", config)
	}
	token, _ := config["agent_token"].(string)
	if len(token) < 32 || found["token"] != token {
		t.Fatalf("the token has %d characters; the agent took %v", len(token), found["token"] == token)
	}
	return token
}

// secondLookup is of another boot of the machine, or of somebody else.
func secondLookup(t *testing.T, p *plane.Plane, uuid string) {
	t.Helper()
	for _, with := range []object{nil, {"node_uuid": uuid}} {
		other := newAgent(t, p.URL, mac)
		found := other.do("lookup", with)
		content, _ := found["content"].(object)
		config, _ := content["config"].(object)
		if config["agent_token"] != "******" || found["token"] != nil {
			t.Errorf("the token is told a second time: %v", config["agent_token"])
		}
	}
}

func TestTheAgentOfANodeThatIsDeployed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts the agent")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{Config: conf, Args: []string{"--set", "conductor.automated_clean=false"}})
	uuid := enrol(p, "deployed", mac)
	p.Provision("deployed", "provide", nil)
	p.AwaitState("deployed", "available", patience)
	p.Must(http.MethodPatch, "/v1/nodes/deployed", []object{{"op": "add", "path": "/instance_info", "value": object{
		"image_source": "http://127.0.0.1:1/disk.raw", "image_os_hash_algo": "sha256",
		"image_os_hash_value": strings.Repeat("0", 64), "image_disk_format": "raw",
	}}})
	p.Provision("deployed", "active", nil)
	p.AwaitState("deployed", "wait call-back", patience)
	a := newAgent(t, p.URL, mac)
	firstLookup(t, a, uuid)
	if _, failed := a.ask("heartbeat", object{"token": strings.Repeat("x", 43)}); !strings.Contains(failed, "Error 400") {
		t.Errorf("with a wrong token: %q", failed)
	}
	a.do("heartbeat", nil)
	if _, failed := a.ask("heartbeat", object{"port": 1}); !strings.Contains(failed, "HeartbeatError") {
		t.Errorf("from another address: %q", failed)
	}
}

func TestTheAgentInspects(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts the agent")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{Config: conf})
	uuid := enrol(p, "inspected", mac)
	a := newAgent(t, p.URL, mac)
	if _, failed := a.ask("inspect", nil); !strings.Contains(failed, "InspectionError: error 404") {
		t.Errorf("a node that awaits no inspection: %q", failed)
	}
	p.Provision("inspected", "inspect", nil)
	p.AwaitState("inspected", "inspect wait", patience)
	if _, failed := a.ask("post", object{"data": object{"inventory": object{}}}); !strings.Contains(failed, "InspectionError: error 400") {
		t.Errorf("an inventory without interfaces: %q", failed)
	}
	if found := a.do("inspect", nil); found["uuid"] != uuid {
		t.Errorf("the agent is told it is %v", found["uuid"])
	}
	node := p.Await("inspected", "the end of the inspection", patience, func(n map[string]any) bool {
		return n["provision_state"] == "manageable" && n["inspection_finished_at"] != nil
	})
	properties, _ := node["properties"].(object)
	if properties["cpu_arch"] != "x86_64" || node["last_error"] != nil {
		t.Errorf("properties %v, last error %v", properties, node["last_error"])
	}
	ports, _ := p.Must(http.MethodGet, "/v1/nodes/inspected/ports/detail", nil)["ports"].([]any)
	if len(ports) != 1 || ports[0].(object)["address"] != mac || ports[0].(object)["pxe_enabled"] != true {
		t.Errorf("ports %v", ports)
	}
	if again := p.Call(http.MethodPost, "/v1/continue_inspection", object{"inventory": object{"interfaces": []object{{"mac_address": mac}}}}); again.Status != http.StatusNotFound && again.Status != http.StatusBadRequest {
		t.Errorf("an inspection that is over takes data: %d %s", again.Status, again.Text)
	}
}

func TestTheAgentTellsThatItsInspectionFailed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts the agent")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{Config: conf})
	uuid := enrol(p, "unlucky", mac)
	p.Provision("unlucky", "inspect", nil)
	p.AwaitState("unlucky", "inspect wait", patience)
	if taken := newAgent(t, p.URL, mac).do("post", object{"data": object{"failed": true}}); taken["uuid"] != uuid {
		t.Errorf("the agent is told %v", taken)
	}
	node := p.AwaitState("unlucky", "inspect failed", patience)
	if told := fmt.Sprint(node["last_error"]); !strings.Contains(told, "collector logs failed: no room") {
		t.Errorf("the operator is told: %s", told)
	}
}
