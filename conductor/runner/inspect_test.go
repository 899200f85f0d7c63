package runner_test

import (
	"slices"
	"strings"
	"testing"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

const inventory = `{"interfaces": [{"name": "eth0", "mac_address": "52:54:00:00:00:01", "ipv4_address": "192.0.2.5"},
	{"name": "eth1", "mac_address": "52:54:00:00:00:02", "client_id": "id-1"}, {"name": "lo", "mac_address": "00:00:00:00:00:00", "ipv4_address": "127.0.0.1"}],
	"cpu": {"architecture": "x86_64"}, "boot": {"pxe_interface": "01-52-54-00-00-00-02"}}`

// inspected is a node at the end of an in-band inspection.
func inspected(t *testing.T, inventory, plugin metal.JSON, prepare func(s *sim)) *sim {
	t.Helper()
	s := newSim(t, redfishNode())
	s.verb(metal.VerbManage, "")
	s.verb(metal.VerbInspect, "")
	s.must(metal.InspectWait)
	s.world.Ports = nil
	if prepare != nil {
		prepare(s)
	}
	s.post(metal.InboxInspection, metal.InspectionPayload{Inventory: inventory, PluginData: plugin})
	s.run()
	return s
}

func TestWhatBecomesPorts(t *testing.T) {
	for _, c := range []struct{ add, keep, want string }{
		{"pxe", "all", "52:54:00:00:00:02 pxe, 52:54:00:00:00:09"},
		{"active", "all", "52:54:00:00:00:01, 52:54:00:00:00:09"},
		{"all", "all", "52:54:00:00:00:01, 52:54:00:00:00:02 pxe, 52:54:00:00:00:09"},
		{"disabled", "all", "52:54:00:00:00:09"},
		{"pxe", "present", "52:54:00:00:00:02 pxe"},
		{"active", "added", "52:54:00:00:00:01"},
	} {
		s := inspected(t, inventory, `{}`, func(s *sim) {
			s.world.Settings.AddPorts, s.world.Settings.KeepPorts = c.add, c.keep
			s.world.Ports = []metal.Port{{UUID: "old", Address: "52:54:00:00:00:09", PXEEnabled: true, Extra: metal.EmptyObject}}
		})
		s.must(metal.Manageable)
		var got []string
		for _, p := range s.world.Ports {
			text := p.Address
			if p.PXEEnabled {
				text += " pxe"
			}
			got = append(got, text)
		}
		slices.Sort(got)
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s, %s: %v", c.add, c.keep, got)
		}
	}
}

// last_error is to the letter what Ironic writes.
func TestWhyAnInspectionFailed(t *testing.T) {
	const reason = "Failed to finish inspection: Failed to inspect hardware. Reason: "
	const hooks = reason + "failed to run inspection hooks: Failed to inspect hardware. Reason: "
	const preprocess = hooks + "The following failures happened while running preprocess hooks for node node-1:\n"
	for _, c := range []struct {
		inventory, plugin, rule metal.JSON
		want                    string
	}{
		{inventory, `{"error": "no disks"}`, "", preprocess + "Error in preprocess hook ramdisk-error: Failed to inspect hardware. Reason: Ramdisk reported error: no disks"},
		{`{"interfaces": [], "cpu": {"architecture": "x"}}`, `{}`, "", preprocess +
			"Unexpected exception InvalidNodeInventory during preprocess hook validate-interfaces: Inventory for node node-1 is invalid: no valid network interfaces"},
		{`{}`, `{}`, "", preprocess +
			"Unexpected exception InvalidNodeInventory during preprocess hook validate-interfaces: Inventory for node node-1 is invalid: no interfaces present in inventory"},
		{`{"interfaces": [{"name": "lo", "mac_address": "52:54:00:00:00:01"}], "cpu": {"architecture": "x"}}`, `{}`, "", preprocess +
			`Unexpected exception InvalidNodeInventory during preprocess hook validate-interfaces: Inventory for node node-1 is invalid: no network interfaces match the configuration (add_ports set to "pxe")`},
		{`{"interfaces": [{"name": "e", "mac_address": "52:54:00:00:00:01"}]}`, `{}`, "", hooks +
			"Unexpected exception InvalidNodeInventory during processing for node: node-1. Error: Inventory for node node-1 is invalid: Inventory has malformed or missing CPU architecture information: None for node node-1."},
		{inventory, `{}`, `[{"op": "fail", "args": {"msg": "not ours"}}]`, reason + "not ours"},
		{inventory, `{}`, `[{"op": "set-attribute", "args": {"path": "extra/a/b/c", "value": 1}}, {"op": "del-attribute", "args": {"path": "extra/none"}}]`,
			"Failed to finish inspection: Inspection rule action execution failed. Reason: Failed to delete attribute at extra/none: 'none'"},
	} {
		s := inspected(t, c.inventory, c.plugin, func(s *sim) {
			if c.rule != "" {
				s.world.Rules = []metal.InspectionRule{{UUID: "rule-1", Actions: c.rule, Conditions: "[]"}}
			}
		})
		s.must(metal.InspectFailed)
		if got := text(s.world.Node.LastError); got != c.want {
			t.Errorf("last_error\n%s\nwant\n%s", got, c.want)
		}
		if s.inventory != nil {
			t.Errorf("%s: what was found is kept all the same", c.want)
		}
		if c.rule != "" && len(s.world.Ports) == 0 {
			t.Errorf("%s: what the hooks did is undone", c.want)
		}
	}
}

// A credential that a rule sets is sealed, and the row has its ref.
func TestARuleSetsACredential(t *testing.T) {
	for _, inspect := range []string{"agent", "redfish"} {
		rule := []metal.InspectionRule{{UUID: "rule-1", Conditions: "[]", Actions: `[
			{"op": "set-attribute", "args": {"path": "driver_info/redfish_password", "value": "canary"}},
			{"op": "set-plugin-data", "args": {"path": "seen", "value": "{node.driver_info[redfish_password]}"}}]`}}
		n := redfishNode()
		n.InspectInterface = inspect
		s := newSim(t, n)
		s.world.Rules = rule
		s.verb(metal.VerbManage, "")
		s.answer = func(o runner.Order) metal.CommandResult {
			if o.Request.Operation != metal.InspectHardware {
				return s.obey(o)
			}
			return ok(metal.InspectResult{Properties: map[string]string{"memory_mb": "1024", "local_gb": "9"}, Inventory: metal.Inventory{
				Interfaces: []metal.InventoryInterface{{Name: "1", MACAddress: "52:54:00:00:00:01"}}, CPU: metal.InventoryCPU{Architecture: "x86_64"},
			}})
		}
		s.verb(metal.VerbInspect, "")
		if inspect == "agent" {
			s.post(metal.InboxInspection, metal.InspectionPayload{Inventory: inventory, PluginData: `{}`})
			s.run()
		}
		s.must(metal.Manageable)
		ref := metal.DriverInfoSecrets("node-1").Below("redfish_password").Ref()
		if got := s.world.Node.DriverInfo.Text("redfish_password"); got != ref || s.secrets[ref] != "canary" {
			t.Errorf("%s: the row has %q, the store is given %v", inspect, got, s.secrets)
		}
		// Ironic keeps the data of an out-of-band inspection before it runs rules.
		if got := s.inventory.PluginData.Text("seen"); got != map[string]string{"agent": "***", "redfish": ""}[inspect] {
			t.Errorf("%s: the plugin data has %q", inspect, got)
		}
	}
}

func TestHooksThatSetProperties(t *testing.T) {
	const told = `{"interfaces": [{"name": "e", "mac_address": "52:54:00:00:00:01"}], "boot": {"current_boot_mode": "uefi"},
		"cpu": {"architecture": "x86_64", "count": 8, "flags": ["fpu", "aes", "vmx", "own"]}, "memory": {"physical_mb": 2048}}`
	const silent = `{"interfaces": [{"name": "e", "mac_address": "52:54:00:00:00:01"}], "cpu": {"architecture": "x86_64"}, "memory": {"physical_mb": null}}`
	for _, c := range []struct {
		inventory, before, want metal.JSON
		failure                 string
	}{
		{told, `{}`, `{"capabilities":"boot_mode:uefi,cpu_vt:true,cpu_aes:true,mine:true","cpu_arch":"x86_64","cpus":8,"memory_mb":2048}`, ""},
		{
			told, `{"capabilities": "a:b,cpu_aes:false,boot_mode:bios"}`,
			`{"capabilities":"a:b,cpu_aes:true,boot_mode:uefi,cpu_vt:true,mine:true","cpu_arch":"x86_64","cpus":8,"memory_mb":2048}`, "",
		},
		{silent, `{}`, `{"cpu_arch":"x86_64","memory_mb":null}`, ""},
		{told, `{"capabilities": "odd"}`, "", "Unexpected exception ValueError during processing for node: node-1. Error: Invalid capabilities string 'odd'."},
		{
			inventory, `{}`, "",
			"Unexpected exception InvalidNodeInventory during processing for node: node-1. Error: Inventory for node node-1 is invalid: Inventory has missing memory information: None for node node-1.",
		},
	} {
		s := inspected(t, c.inventory, `{}`, func(s *sim) {
			s.world.Node.Properties = c.before
			s.world.Settings.InspectHooks = append(s.world.Settings.InspectHooks, "boot-mode", "no-such-hook", "cpu-capabilities", "cpus", "memory")
			s.world.Settings.CPUCapabilities = map[string]string{"vmx": "cpu_vt", "svm": "cpu_vt", "aes": "cpu_aes", "own": "mine"}
		})
		if c.failure != "" {
			s.must(metal.InspectFailed)
			if got := text(s.world.Node.LastError); !strings.HasSuffix(got, c.failure) {
				t.Errorf("last_error %s", got)
			}
			continue
		}
		s.must(metal.Manageable)
		if s.world.Node.Properties != c.want {
			t.Errorf("properties %s, want %s", s.world.Node.Properties, c.want)
		}
	}
}
