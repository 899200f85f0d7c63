package oracle

import "ferrule/openapi"

// What the generator of cases fills requests with. In these texts %d is a number
// that is used once.

// furniture is what a path's parameter stands for: the word that is put in its
// place, and the lines that make it.
var furniture = map[string]struct {
	word  string
	needs []string
	lines []string
}{
	"node":      {word: "{n1}", lines: []string{"node n1"}},
	"port":      {word: "{p1}", needs: []string{"node"}, lines: []string{"port p1 of n1"}},
	"portgroup": {word: "{g1}", needs: []string{"node"}, lines: []string{`POST /v1/portgroups {"node_uuid": "{n1}", "name": "g1"} -> uuid as g1`}},
	"chassis":   {word: "{c1}", lines: []string{"POST /v1/chassis {} -> uuid as c1"}},
	"connector": {word: "{vc1}", needs: []string{"node"}, lines: []string{
		"set n1 power_state=power%20off",
		`POST /v1/volume/connectors {"node_uuid": "{n1}", "type": "iqn", "connector_id": "c"} -> uuid as vc1`,
	}},
	"target": {word: "{vt1}", needs: []string{"node"}, lines: []string{
		"set n1 power_state=power%20off",
		`POST /v1/volume/targets {"node_uuid": "{n1}", "volume_type": "iscsi", "volume_id": "v", "boot_index": 0} -> uuid as vt1`,
	}},
	"allocation": {word: "{a1}", lines: []string{
		`POST /v1/allocations {"resource_class": "none", "name": "a1"} -> uuid as a1`, "until /v1/allocations/{a1} state=error",
	}},
	"template":        {word: "{t1}", lines: []string{"POST /v1/deploy_templates " + body["createTemplate"] + " -> uuid as t1"}},
	"runbook":         {word: "{b1}", lines: []string{"POST /v1/runbooks " + body["createRunbook"] + " -> uuid as b1"}},
	"inspection_rule": {word: "{i1}", lines: []string{"POST /v1/inspection_rules " + body["createInspectionRule"] + " -> uuid as i1"}},
	"driver":          {word: "fake-hardware"},
	"hostname":        {word: "nosuch"},
	"trait":           {word: "CUSTOM_A"},
	"setting":         {word: "virtualization"},
	"event":           {word: "99999999-2222-4333-8444-555555555555"},
	"vif":             {word: "v1"},
	"method":          {word: "third_method_sync"},
	"indicator":       {word: "led@system"},
}

const someUUID = "99999999-2222-4333-8444-555555555555"

// body is what an operation takes, without anything that it may also take.
var body = map[string]string{
	"createNode":           `{"driver": "fake-hardware"}`,
	"createPort":           `{"node_uuid": "{n1}", "address": "52:54:00:bb:%02x:%02x"}`,
	"createPortgroup":      `{"node_uuid": "{n1}"}`,
	"createChassis":        `{}`,
	"createConnector":      `{"node_uuid": "{n1}", "type": "iqn", "connector_id": "k%d"}`,
	"createTarget":         `{"node_uuid": "{n1}", "volume_type": "iscsi", "volume_id": "v", "boot_index": %d}`,
	"createAllocation":     `{"resource_class": "none"}`,
	"createTemplate":       `{"name": "CUSTOM_K%d", "steps": [{"interface": "bios", "step": "s", "args": {}, "priority": 1}]}`,
	"createRunbook":        `{"name": "CUSTOM_K%d", "steps": [{"interface": "bios", "step": "s", "order": 1}]}`,
	"createInspectionRule": `{"actions": [{"op": "fail", "args": {"msg": "m"}}], "conditions": []}`,
	"updateInspectionRule": `[{"op": "add", "path": "/description", "value": "d"}]`,
	"putTraits":            `{"traits": ["CUSTOM_A"]}`,
	"putRunbookTraits":     `{"traits": ["CUSTOM_A"]}`,
	"attachVIF":            `{"id": "v1"}`,
	"heartbeat":            `{"callback_url": "https://127.0.0.1:1/", "agent_token": "x"}`,
	"continueInspection":   `{"inventory": {"interfaces": [{"mac_address": "{p1_mac}"}]}}`,
}

// badBody is what an operation refuses; others refuse an unknown object.
var badBody = map[string]string{
	"setRAID":            `{"logical_disks": 5}`,
	"setBootMode":        `{"target": "nosuch"}`,
	"setSecureBoot":      `{"target": "nosuch"}`,
	"putTraits":          `{"traits": ["not a trait"]}`,
	"putRunbookTraits":   `{"traits": ["not a trait"]}`,
	"postEvents":         `{"events": []}`,
	"continueInspection": `{"inventory": {}}`,
}

// fieldValue are values, as JSON, that a field takes, and that it does not;
// where there is none, the field's type says what it takes.
var fieldValue = map[string][2]string{
	"Node.name":                {`"name-%d"`, `"not a name"`},
	"Node.network_interface":   {`"noop"`, `"nosuch"`},
	"Node.storage_interface":   {`"noop"`, `"nosuch"`},
	"Node.conductor_group":     {`""`, `"no such group"`},
	"Node.parent_node":         {`"{n1}"`, `"nosuch"`},
	"Node.network_data":        {`{"links": [], "networks": [], "services": []}`, `{"links": 5}`},
	"Node.protected":           {`false`, `"maybe"`},
	"Node.protected_reason":    {`null`, `"unprotected"`},
	"Node.retired_reason":      {`null`, `5`},
	"Node.boot_mode":           {`"uefi"`, `5`},
	"Node.secure_boot":         {`true`, `{}`},
	"Node.owner":               {`null`, `5`},
	"Port.portgroup_uuid":      {`"{g1}"`, `"` + someUUID + `"`},
	"Portgroup.mode":           {`"802.3ad"`, `5`},
	"Port.physical_network":    {`"physnet"`, `""`},
	"Port.address":             {`"52:54:00:cc:%02x:%02x"`, `"nosuch"`},
	"Port.node_ident":          {`"{n1}"`, `"nosuch"`},
	"Allocation.node":          {`"{n1}"`, `"nosuch"`},
	"Portgroup.address":        {`"52:54:00:cc:%02x:%02x"`, `"nosuch"`},
	"InspectionRule.sensitive": {`true`, `"maybe"`},
	"Port.local_link_connection": {
		`{"switch_id": "0a:1b:2c:3d:4e:5f", "port_id": "p"}`, `{"nosuch": 1}`,
	},
}

var kindValue = map[openapi.FieldKind][2]string{
	openapi.FieldString:  {`"x"`, `5`},
	openapi.FieldUUID:    {`"` + someUUID + `"`, `"nosuch"`},
	openapi.FieldBool:    {`true`, `"maybe"`},
	openapi.FieldInteger: {`1`, `"x"`},
	openapi.FieldObject:  {`{}`, `5`},
	openapi.FieldArray:   {`[]`, `5`},
}

// paramValue are values of query parameters that are taken, and that are not;
// where none is wrong, giving two is.
var paramValue = map[string][2]string{
	"limit": {"1", "x"}, "marker": {"", "nosuch"}, "address": {"52:54:00:aa:00:01", "nosuch"}, "node_uuid": {"{n1}", "nosuch"}, "sort_key": {"uuid", "extra"}, "sort_dir": {"desc", "up"},
	"fields": {"uuid", "nosuch"}, "chassis_uuid": {"{c1}", "nosuch"}, "instance_uuid": {someUUID, "nosuch"},
	"provision_state": {"enroll", ""}, "portgroup": {"{g1}", "nosuch"}, "parent_node": {"{n1}", ""}, "fault": {"power%20failure", ""},
	"type": {"dynamic", "nosuch"}, "node": {"{n1}", "nosuch"}, "conductor_group": {"g", ""},
}

// argValue are bodies that hold an argument as it is taken, and as it is not,
// with the state that a node has to be in.
var argValue = map[string]struct{ state, good, bad string }{
	"setPower timeout": {"manageable", `{"target": "power on", "timeout": 5}`, `{"target": "power on", "timeout": -5}`},
	"setPower target soft power off": {
		"manageable", `{"target": "soft power off"}`, `{"target": "soft power off", "timeout": -5}`,
	},
	"setPower target soft rebooting": {
		"manageable", `{"target": "soft rebooting"}`, `{"target": "soft rebooting", "timeout": -5}`,
	},
	"setProvision clean_steps": {
		"manageable", `{"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}`, `{"target": "clean", "clean_steps": 5}`,
	},
	"setProvision deploy_steps": {"available", `{"target": "active", "deploy_steps": []}`, `{"target": "active", "deploy_steps": 5}`},
	"setProvision disable_ramdisk": {
		"manageable", `{"target": "clean", "disable_ramdisk": true, "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}`,
		`{"target": "clean", "disable_ramdisk": "maybe"}`,
	},
	"setProvision rescue_password": {
		"active", `{"target": "rescue", "rescue_password": "obviously-fake"}`, `{"target": "rescue", "rescue_password": ""}`,
	},
	"setProvision runbook": {"manageable", `{"target": "clean", "runbook": "CUSTOM_R"}`, `{"target": "clean", "runbook": "nosuch"}`},
	"setProvision service_steps": {
		"active", `{"target": "service", "service_steps": [{"interface": "vendor", "step": "log_passthrough"}]}`,
		`{"target": "service", "service_steps": 5}`,
	},
	"setProvision target abort":   {"clean-wait", `{"target": "abort"}`, ""},
	"setProvision target adopt":   {"manageable", `{"target": "adopt"}`, ""},
	"setProvision target clean":   {"manageable", `{"target": "clean", "clean_steps": [{"interface": "bios", "step": "factory_reset"}]}`, ""},
	"setProvision target deploy":  {"available", `{"target": "deploy"}`, ""},
	"setProvision target inspect": {"manageable", `{"target": "inspect"}`, ""},
	"setProvision target manage":  {"enroll", `{"target": "manage"}`, ""},
	"setProvision target provide": {"manageable", `{"target": "provide"}`, ""},
	"setProvision target rescue":  {"active", `{"target": "rescue", "rescue_password": "obviously-fake"}`, ""},
	"setProvision target service": {
		"active", `{"target": "service", "service_steps": [{"interface": "vendor", "step": "log_passthrough"}]}`, "",
	},
	"setProvision target unhold":   {"clean-hold", `{"target": "unhold"}`, ""},
	"setProvision target unrescue": {"rescue", `{"target": "unrescue"}`, ""},
	"attachVIF port_uuid":          {"", `{"id": "k%d", "port_uuid": "` + someUUID + `"}`, `{"id": 5, "port_uuid": "{n1}"}`},
	"attachVIF portgroup_uuid":     {"", `{"id": "k%d", "portgroup_uuid": "` + someUUID + `"}`, `{"id": 5, "portgroup_uuid": "{n1}"}`},
	"heartbeat agent_status":       {"", heartbeat(`"agent_status": "start"`), heartbeat(`"agent_status": "nosuch"`)},
	"heartbeat agent_status_message": {
		"", heartbeat(`"agent_status": "start", "agent_status_message": "m"`), heartbeat(`"agent_status_message": 5`),
	},
	"heartbeat agent_token":     {"", heartbeat(`"agent_version": "9.0.0"`), `{"callback_url": "https://127.0.0.1:1/", "agent_token": 5}`},
	"heartbeat agent_verify_ca": {"", heartbeat(`"agent_verify_ca": "x"`), heartbeat(`"agent_verify_ca": 5`)},
	"heartbeat agent_version":   {"", heartbeat(`"agent_version": "9.0.0"`), heartbeat(`"agent_version": 5`)},
}

func heartbeat(more string) string {
	return `{"callback_url": "https://127.0.0.1:1/", "agent_token": "{token}", ` + more + `}`
}
