package cli_test

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
)

// fakeConf allows every fake interface beside those that are on by themselves.
const fakeConf = `[DEFAULT]
enabled_hardware_types = fake-hardware,redfish
enabled_boot_interfaces = fake,redfish-virtual-media
enabled_deploy_interfaces = fake,direct
enabled_management_interfaces = fake,redfish
enabled_power_interfaces = fake,redfish
enabled_inspect_interfaces = fake,agent,no-inspect
`

// rack starts a Ferrule with five nodes of fake hardware, named for what they
// are: plain, owned, broken (in maintenance), ready (manageable) and child.
func rack(t *testing.T) (*plane.Plane, *openstack) {
	t.Helper()
	p := plane.Start(t, plane.Options{Config: fakeConf})
	create := func(name string, fields object) any {
		body := object{"driver": "fake-hardware", "name": name}
		maps.Copy(body, fields)
		return p.Must(http.MethodPost, "/v1/nodes", body)["uuid"]
	}
	parent := create("plain", nil)
	create("owned", object{
		"lessee": "bob", "resource_class": "big", "shard": "north", "description": "under the stairs", "instance_name": "web",
	})
	// Who is no system's admin owns what they create, and may give it away.
	p.Must(http.MethodPatch, "/v1/nodes/owned", []object{{"op": "add", "path": "/owner", "value": "alice"}})
	create("broken", nil)
	p.Must(http.MethodPut, "/v1/nodes/broken/maintenance", object{"reason": "its fan rattles"})
	create("ready", nil)
	p.Provision("ready", "manage", nil)
	create("child", object{"parent_node": parent})
	p.AwaitState("ready", "manageable", time.Minute)
	return p, newOpenstack(t, p)
}

func TestNodesAreListed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	_, o := rack(t)
	plain := fmt.Sprint(o.one("node", "show", "plain", "--fields", "uuid")["uuid"])
	owned := o.one("node", "show", "owned")
	for _, c := range []struct {
		flags string
		names []any
	}{
		{"", []any{"broken", "owned", "plain", "ready"}}, // children are not shown unasked
		{"--include-children", []any{"broken", "child", "owned", "plain", "ready"}},
		{"--parent-node " + plain, []any{"child"}},
		{"--maintenance", []any{"broken"}},
		{"--no-maintenance", []any{"owned", "plain", "ready"}},
		{"--provision-state manageable", []any{"ready"}},
		{"--driver fake-hardware", []any{"broken", "owned", "plain", "ready"}},
		{"--driver redfish", []any{}},
		{"--resource-class big", []any{"owned"}},
		{"--owner alice", []any{"owned"}},
		{"--lessee bob", []any{"owned"}},
		{"--shards north south", []any{"owned"}},
		{"--sharded", []any{"owned"}},
		{"--unsharded", []any{"broken", "plain", "ready"}},
		{"--instance-name web", []any{"owned"}},
		{"--description-contains stairs", []any{"owned"}},
		{"--associated", []any{}},
		{"--unassociated", []any{"broken", "owned", "plain", "ready"}},
		{"--retired", []any{}},
		{"--no-retired", []any{"broken", "owned", "plain", "ready"}},
		{"--fault power failure", []any{}},
		// The client sorts what it was sent, which is in the order of creation.
		{"--limit 2", []any{"owned", "plain"}},
		{"--marker " + fmt.Sprint(owned["uuid"]), []any{"broken", "ready"}},
		{"--conductor " + fmt.Sprint(owned["conductor"]), []any{"broken", "owned", "plain", "ready"}},
	} {
		args := []string{"node", "list", "--sort", "name:asc"}
		flag, value, _ := strings.Cut(c.flags, " ")
		switch {
		case flag == "--shards":
			args = append(append(args, flag), strings.Fields(value)...)
		case value != "":
			args = append(args, flag, value)
		case flag != "":
			args = append(args, flag)
		}
		if got := column(o.list(args...), "name"); !slices.Equal(got, c.names) {
			t.Errorf("%v lists %v, wanted %v", args, got, c.names)
		}
	}
	down := column(o.list("node", "list", "--sort", "name:desc"), "name")
	if !slices.Equal(down, []any{"ready", "plain", "owned", "broken"}) {
		t.Errorf("downwards: %v", down)
	}
	o.refused(`Provision state "nowhere" is not valid`, "node", "list", "--provision-state", "nowhere")
}

func TestNodesAreShownInEveryForm(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	_, o := rack(t)
	o.refused("an owner other than your own", "node", "create", "--driver", "fake-hardware", "--owner", "alice")
	made := o.one("node", "create", "--driver", "fake-hardware", "--name", "made", "--lessee", "bob", "--resource-class", "big",
		"--shard", "north", "--description", "under the stairs", "--instance-name", "shop", "--property", "cpus=8",
		"--extra", "note=x=y", "--automated-clean")
	want := object{
		"name": "made", "owner": nil, "lessee": "bob", "resource_class": "big", "shard": "north",
		"description": "under the stairs", "instance_name": "shop", "automated_clean": true, "provision_state": "enroll",
		"maintenance": false, "power_state": nil, "driver": "fake-hardware", "deploy_interface": "fake",
	}
	for field, value := range want {
		if made[field] != value {
			t.Errorf("%s is %v, wanted %v", field, made[field], value)
		}
	}
	if fmt.Sprint(made["properties"]) != "map[cpus:8]" || fmt.Sprint(made["extra"]) != "map[note:x=y]" {
		t.Errorf("properties %v, extra %v", made["properties"], made["extra"])
	}
	// The client shows every field that it knows, null or not, if the server sent it.
	if len(made) < 60 {
		t.Errorf("only %d fields are shown", len(made))
	}
	owned := o.one("node", "show", "owned")
	uuid := fmt.Sprint(owned["uuid"])
	if by := o.one("node", "show", uuid); by["name"] != "owned" {
		t.Errorf("by its uuid: %v", by)
	}
	two := o.one("node", "show", "owned", "--fields", "name", "owner")
	if len(two) != 2 || two["owner"] != "alice" {
		t.Errorf("two fields: %v", two)
	}
	rows := o.list("node", "list", "--fields", "name", "extra", "--sort", "name", "--owner", "alice")
	if fmt.Sprint(rows) != "[map[extra:map[] name:owned]]" {
		t.Errorf("two fields of each: %v", rows)
	}
	if long := o.list("node", "list", "--long", "--owner", "alice"); len(long) != 1 || long[0]["description"] != "under the stairs" {
		t.Errorf("in detail: %v", long)
	}
	if value := o.do("node", "show", "owned", "-f", "value", "-c", "name", "-c", "shard"); value != "owned\nnorth\n" {
		t.Errorf("as values: %q", value)
	}
	table, err := csv.NewReader(strings.NewReader(o.do("node", "list", "-f", "csv", "--owner", "alice"))).ReadAll()
	wanted := [][]string{
		{"uuid", "name", "instance_uuid", "power_state", "provision_state", "maintenance"},
		{uuid, "owned", "", "", "enroll", "False"},
	}
	if err != nil || fmt.Sprint(table) != fmt.Sprint(wanted) {
		t.Errorf("as csv: %v, %v", table, err)
	}
	if drawn := o.do("node", "list", "--owner", "alice"); !strings.Contains(drawn, "| "+uuid+" | owned | None ") {
		t.Errorf("as a table:\n%s", drawn)
	}
}

func TestNodesAreChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	p, o := rack(t)
	o.do("node", "set", "plain", "--name", "renamed", "--extra", "a=1", "--property", "capabilities=boot_mode:uefi",
		"--resource-class", "small", "--driver-info", "ipmi_password=hidden", "--protected-reason", "", "--retired", "--retired-reason", "old")
	node := o.one("node", "show", "renamed")
	if node["resource_class"] != "small" || node["retired"] != true || node["retired_reason"] != "old" {
		t.Errorf("set: %v", node)
	}
	if info, _ := node["driver_info"].(object); info["ipmi_password"] != "******" {
		t.Errorf("driver_info %v", node["driver_info"])
	}
	o.do("node", "unset", "renamed", "--extra", "a", "--resource-class", "--retired")
	node = o.one("node", "show", "renamed")
	if node["resource_class"] != nil || node["retired"] != false || fmt.Sprint(node["extra"]) != "map[]" {
		t.Errorf("unset: %v, %v, %v", node["resource_class"], node["retired"], node["extra"])
	}
	o.do("node", "set", "renamed", "--deploy-interface", "direct")
	o.do("node", "set", "renamed", "--reset-deploy-interface")
	if node = o.one("node", "show", "renamed"); node["deploy_interface"] != "fake" {
		t.Errorf("deploy_interface is reset to %v", node["deploy_interface"])
	}

	if broken := o.one("node", "show", "broken"); broken["maintenance"] != true || broken["maintenance_reason"] != "its fan rattles" {
		t.Errorf("in maintenance: %v, %v", broken["maintenance"], broken["maintenance_reason"])
	}
	o.do("node", "maintenance", "set", "renamed", "--reason", "loud")
	if plain := o.one("node", "show", "renamed"); plain["maintenance"] != true || plain["maintenance_reason"] != "loud" {
		t.Errorf("in maintenance: %v, %v", plain["maintenance"], plain["maintenance_reason"])
	}
	o.do("node", "maintenance", "unset", "broken")
	if broken := o.one("node", "show", "broken"); broken["maintenance"] != false || broken["maintenance_reason"] != nil {
		t.Errorf("out of maintenance: %v, %v", broken["maintenance"], broken["maintenance_reason"])
	}
	both := o.do("node", "delete", "broken", "child")
	if both != "Deleted node broken\nDeleted node child\n" {
		t.Errorf("delete printed %q", both)
	}
	if a := p.Call(http.MethodGet, "/v1/nodes/broken", nil); a.Status != http.StatusNotFound {
		t.Errorf("a deleted node answers %d", a.Status)
	}
}

func TestPowerAndBootDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	p, o := rack(t)
	power := func(want string) {
		t.Helper()
		p.Await("ready", want, time.Minute, func(n map[string]any) bool {
			return n["power_state"] == want && n["target_power_state"] == nil
		})
		if shown := o.one("node", "show", "ready", "--fields", "power_state"); shown["power_state"] != want {
			t.Errorf("power is shown as %v, wanted %s", shown["power_state"], want)
		}
	}
	o.do("node", "power", "on", "ready")
	power("power on")
	o.do("node", "reboot", "ready", "--power-timeout", "30")
	power("power on")
	o.do("node", "power", "off", "ready", "--soft")
	power("power off")

	supported := o.one("node", "boot", "device", "show", "ready", "--supported")
	if !strings.Contains(fmt.Sprint(supported), "pxe") {
		t.Errorf("supported: %v", supported)
	}
	o.do("node", "boot", "device", "set", "ready", "pxe", "--persistent")
	shown := o.one("node", "boot", "device", "show", "ready")
	if fmt.Sprint(shown["boot_device"]) != "pxe" || len(shown) != 2 {
		t.Errorf("boot device: %v", shown)
	}
	o.refused("wanboot", "node", "boot", "device", "set", "ready", "wanboot")

	rows := o.list("node", "validate", "ready")
	if results := fmt.Sprint(column(rows, "result")) + fmt.Sprint(column(rows, "Result")); len(rows) < 10 || strings.Contains(results, "false") {
		t.Errorf("validate: %v", rows)
	}
}

func TestTheRealClientIsToldWhatIsWrong(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	_, o := rack(t)
	o.refused("Node nobody could not be found.", "node", "show", "nobody")
	o.refused("Node nobody could not be found.", "node", "manage", "nobody")
	o.refused("The requested action \"active\" can not be performed on node", "node", "deploy", "plain")
	o.refused("no-such-driver", "node", "create", "--driver", "no-such-driver")
	o.refused("no-such-interface", "node", "create", "--driver", "fake-hardware", "--boot-interface", "no-such-interface")
	o.refused("bad_name", "node", "set", "plain", "--name", "bad_name!")
	o.refused("Failed to delete node nobody", "node", "delete", "nobody", "child")
	o.refused("Node child could not be found.", "node", "show", "child") // the good one of the two is gone
	old := o.one("node", "show", "owned", "--os-baremetal-api-version", "1.30")
	if _, shown := old["deploy_interface"]; shown || old["name"] != "owned" {
		t.Errorf("at 1.30: %v", old)
	}
	o.refused("Supported version range is 1.1 to 1.115", "--os-baremetal-api-version", "1.31", "node", "create", "--driver", "fake-hardware", "--owner", "alice")
}
