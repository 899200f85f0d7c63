package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/openapi"
)

// kind is a kind of object, with a body that makes one. {node} is a node's UUID
// and {n} a number that no other body has.
type kind struct {
	path, key, body string
	fields          *openapi.Resource
}

func kinds() []kind {
	return []kind{
		{"/v1/portgroups", "portgroups", `{"node_uuid": "{node}", "name": "g{n}"}`, openapi.PortgroupFields},
		{"/v1/chassis", "chassis", `{"description": "{n}"}`, openapi.ChassisFields},
		{"/v1/volume/connectors", "connectors", `{"node_uuid": "{node}", "type": "iqn", "connector_id": "{n}"}`, openapi.VolumeConnectorFields},
		{"/v1/volume/targets", "targets", `{"node_uuid": "{node}", "volume_type": "iscsi", "volume_id": "v", "boot_index": {n}}`, openapi.VolumeTargetFields},
		{"/v1/allocations", "allocations", `{"resource_class": "none", "name": "a{n}"}`, openapi.AllocationFields},
		{"/v1/deploy_templates", "deploy_templates", `{"name": "CUSTOM_{n}", "steps": [{"interface": "bios", "step": "s", "args": {}, "priority": 1}]}`, openapi.DeployTemplateFields},
		{"/v1/runbooks", "runbooks", `{"name": "CUSTOM_{n}", "steps": [{"interface": "bios", "step": "s", "order": 1}]}`, openapi.RunbookFields},
		{"/v1/inspection_rules", "inspection_rules", `{"actions": [{"op": "fail", "args": {"msg": "m"}}], "conditions": []}`, openapi.InspectionRuleFields},
	}
}

// strange are values that a field may meet.
var strange = []string{
	"null", "true", "1", "-1", "1.5", "1e3", "99999999999999999999", "1e400", `""`, `"x"`, `"a b"`, `"\u0000"`, `"CUSTOM_A"`, `"52:54:00:00:00:01"`,
	`"11111111-2222-4333-8444-555555555555"`, `"` + strings.Repeat("n", 300) + `"`, "[]", "[1]", `["x"]`, "[null]", `[{}]`, `[[]]`, "{}", `{"a": {"b": null}}`,
	`{"password": "p", "secret": [1]}`, `[{"op": "eq", "args": null}]`, `[{"interface": 1, "step": [], "args": 1, "priority": {}, "order": "x"}]`,
}

// body is the kind's body with the field set to what the text says.
func (k kind) bodyWith(node string, n int, field, value string) string {
	text := strings.NewReplacer("{node}", node, "{n}", fmt.Sprint(n)).Replace(k.body)
	if field == "" {
		return text
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		panic(err)
	}
	delete(whole, field)
	rest, err := json.Marshal(whole)
	if err != nil {
		panic(err)
	}
	comma := ", "
	if len(whole) == 0 {
		comma = ""
	}
	return strings.TrimSuffix(string(rest), "}") + comma + fmt.Sprintf("%q: %s}", field, value)
}

// Whatever a field is set to, the answer is no failure, and what is refused
// leaves nothing.
func TestNoFieldFails(t *testing.T) {
	s := serve(t)
	off := string(metal.PowerOff)
	for _, k := range kinds() {
		node := s.node(`{"driver": "fake-hardware"}`)
		s.put(node, func(n *metal.Node) { n.PowerState = &off })
		n, made := 1000, 0
		created := s.ask("latest", http.MethodPost, k.path, k.bodyWith(node, n, "", "")).want(http.StatusCreated).object()
		made++
		one := k.path + "/" + created["uuid"].(string)
		for _, f := range k.fields.Fields {
			for _, value := range strange {
				n++
				if s.try("latest", http.MethodPost, k.path, k.bodyWith(node, n, f.Name, value)) == http.StatusCreated {
					made++
				}
				for _, op := range []string{
					`[{"op": "add", "path": "/%[1]s", "value": %[2]s}]`, `[{"op": "replace", "path": "/%[1]s", "value": %[2]s}, {"op": "remove", "path": "/%[1]s/0"}]`,
					`[{"op": "add", "path": "/%[1]s/0", "value": %[2]s}]`, `[{"op": "add", "path": "/%[1]s/x/-", "value": %[2]s}]`,
				} {
					s.try("latest", http.MethodPatch, one, fmt.Sprintf(op, f.Name, value))
				}
			}
			s.try("latest", http.MethodPatch, one, fmt.Sprintf(`[{"op": "remove", "path": "/%s"}]`, f.Name))
			s.try("latest", http.MethodGet, k.path+"?sort_key="+f.Name, "")
			s.try("latest", http.MethodGet, k.path+"?fields="+f.Name, "")
			s.try("latest", http.MethodGet, one+"?fields="+f.Name, "")
		}
		s.ask("latest", http.MethodGet, one, "").want(http.StatusOK)
		list := s.ask("latest", http.MethodGet, k.path, "").want(http.StatusOK).object()
		if have := len(list[k.key].([]any)); have != made {
			t.Errorf("%s: %d were made and %d are there", k.path, made, have)
		}
		for _, item := range list[k.key].([]any) {
			s.ask("latest", http.MethodDelete, k.path+"/"+item.(map[string]any)["uuid"].(string), "").want(http.StatusNoContent)
		}
	}
}

// try sends a request that may be refused, and fails the test where the server
// fails.
func (s *served) try(version, method, path, body string) int {
	s.t.Helper()
	a := s.ask(version, method, path, body)
	if a.Code >= 500 || a.Code == 0 {
		s.t.Errorf("%s %s %s: %d %s", method, path, body, a.Code, a.Body)
	}
	return a.Code
}

// Every field of every kind can be shown, alone and in a list.
func TestEveryFieldIsShown(t *testing.T) {
	s := serve(t)
	node := s.node(`{"driver": "fake-hardware"}`)
	for _, k := range kinds() {
		s.ask("latest", http.MethodPost, k.path, k.bodyWith(node, 1, "", "")).want(http.StatusCreated)
		for _, f := range k.fields.Fields {
			if !f.Select || !f.Detail {
				continue
			}
			list := s.ask("latest", http.MethodGet, k.path+"?fields="+f.Name, "").want(http.StatusOK).object()
			if _, shown := list[k.key].([]any)[0].(map[string]any)[f.Name]; !shown {
				t.Errorf("%s does not show %s", k.path, f.Name)
			}
		}
	}
}
