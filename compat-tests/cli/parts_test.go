package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPorts(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	_, o := rack(t)
	node := o.one("node", "show", "plain", "--fields", "uuid")["uuid"]
	made := o.one("port", "create", "52:54:00:AA:00:01", "--node", fmt.Sprint(node), "--extra", "slot=1", "--pxe-enabled", "false",
		"--physical-network", "rack", "--local-link-connection", "switch_id=0a:1b:2c:3d:4e:5f",
		"--local-link-connection", "port_id=Gi1/0/1", "--local-link-connection", "switch_info=top", "--name", "first",
		"--description", "left")
	want := object{
		"address": "52:54:00:aa:00:01", "node_uuid": node, "pxe_enabled": false, "physical_network": "rack", "name": "first",
		"portgroup_uuid": nil, "is_smartnic": false,
	}
	for field, value := range want {
		if made[field] != value {
			t.Errorf("%s is %v, wanted %v", field, made[field], value)
		}
	}
	o.do("port", "create", "52:54:00:aa:00:02", "--node", fmt.Sprint(node))
	o.refused("not-a-mac", "port", "create", "not-a-mac", "--node", fmt.Sprint(node))
	uuid := fmt.Sprint(made["uuid"])

	for flags, addresses := range map[string][]any{
		"":                            {"52:54:00:aa:00:01", "52:54:00:aa:00:02"},
		"--node plain":                {"52:54:00:aa:00:01", "52:54:00:aa:00:02"},
		"--node owned":                {},
		"--address 52:54:00:AA:00:02": {"52:54:00:aa:00:02"},
		"--limit 1":                   {"52:54:00:aa:00:01"},
		"--marker " + uuid:            {"52:54:00:aa:00:02"},
	} {
		got := column(o.list(append([]string{"port", "list", "--sort", "address"}, strings.Fields(flags)...)...), "address")
		if !slices.Equal(got, addresses) {
			t.Errorf("port list %s: %v, wanted %v", flags, got, addresses)
		}
	}
	long := o.list("port", "list", "--long", "--address", "52:54:00:aa:00:01")
	if len(long) != 1 || fmt.Sprint(long[0]["local_link_connection"]) != "map[port_id:Gi1/0/1 switch_id:0a:1b:2c:3d:4e:5f switch_info:top]" {
		t.Errorf("in detail: %v", long)
	}
	if two := o.list("port", "list", "--fields", "uuid", "pxe_enabled", "--node", "plain"); len(two) != 2 || len(two[0]) != 2 {
		t.Errorf("two fields: %v", two)
	}
	if by := o.one("port", "show", "--address", "52:54:00:aa:00:01"); by["uuid"] != uuid {
		t.Errorf("by address: %v", by)
	}
	if by := o.one("port", "show", "first", "--fields", "name", "node_uuid"); len(by) != 2 || by["node_uuid"] != node {
		t.Errorf("by name: %v", by)
	}

	o.do("port", "set", uuid, "--pxe-enabled", "--address", "52:54:00:aa:00:03", "--extra", "slot=2", "--name", "moved")
	set := o.one("port", "show", uuid)
	if set["pxe_enabled"] != true || set["address"] != "52:54:00:aa:00:03" || fmt.Sprint(set["extra"]) != "map[slot:2]" || set["name"] != "moved" {
		t.Errorf("set: %v", set)
	}
	o.do("port", "unset", uuid, "--extra", "slot", "--physical-network", "--name")
	unset := o.one("port", "show", uuid)
	if unset["physical_network"] != nil || fmt.Sprint(unset["extra"]) != "map[]" || unset["name"] != nil {
		t.Errorf("unset: %v", unset)
	}
	if out := o.do("port", "delete", uuid); out != "Deleted port "+uuid+"\n" {
		t.Errorf("delete printed %q", out)
	}
	o.refused("Port "+uuid+" could not be found.", "port", "show", uuid)
}

func TestDriversAndConductors(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	_, o := rack(t)
	drivers := o.list("driver", "list")
	if names := column(drivers, "name"); !slices.Equal(names, []any{"fake-hardware", "redfish"}) {
		t.Errorf("drivers %v", names)
	}
	if none := o.list("driver", "list", "--type", "classic"); len(none) != 0 {
		t.Errorf("classic drivers: %v", none)
	}
	long := o.list("driver", "list", "--long", "--type", "dynamic")
	if len(long) != 2 || fmt.Sprint(long[0]["enabled_boot_interfaces"]) != "fake" || long[0]["type"] != "dynamic" {
		t.Errorf("in detail: %v", long)
	}
	redfish := o.one("driver", "show", "redfish")
	if redfish["default_power_interface"] != "redfish" || redfish["hosts"] == nil {
		t.Errorf("redfish: %v", redfish)
	}
	if one := o.one("driver", "show", "redfish", "--fields", "name"); len(one) != 1 {
		t.Errorf("one field: %v", one)
	}
	properties := o.list("driver", "property", "list", "redfish")
	if !strings.Contains(fmt.Sprint(properties), "redfish_address") {
		t.Errorf("properties: %v", properties)
	}
	o.refused("nothing", "driver", "show", "nothing")

	conductors := o.list("conductor", "list")
	if len(conductors) == 0 || conductors[0]["alive"] != true {
		t.Fatalf("conductors %v", conductors)
	}
	host := fmt.Sprint(conductors[0]["hostname"])
	shown := o.one("conductor", "show", host)
	if shown["alive"] != true || !strings.Contains(fmt.Sprint(shown["drivers"]), "fake-hardware") {
		t.Errorf("%s: %v", host, shown)
	}
	if two := o.one("conductor", "show", host, "--fields", "hostname", "alive"); len(two) != 2 {
		t.Errorf("two fields: %v", two)
	}
	if long := o.list("conductor", "list", "--long"); len(long) != len(conductors) || long[0]["drivers"] == nil {
		t.Errorf("in detail: %v", long)
	}
	o.refused("nowhere", "conductor", "show", "nowhere")
}
