package rights

import (
	"fmt"
	"net/http"
	"strings"
)

// fill puts what words in braces stand for in their place. What is called fresh
// is made for this one request; other things are made once.
func (s *service) fill(text string) string {
	s.t.Helper()
	for _, word := range s.makers() {
		brace := "{" + word.name + "}"
		if !strings.Contains(text, brace) {
			continue
		}
		value, made := s.known[word.name]
		if !made {
			value = word.make()
		}
		if !word.fresh {
			s.known[word.name] = value
		}
		text = strings.ReplaceAll(text, brace, value)
	}
	for name, value := range s.known {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

// maker makes what a word stands for.
type maker struct {
	name  string
	fresh bool
	make  func() string
}

func (s *service) makers() []maker {
	leased := func() string { return s.freshNode("blue", "green") }
	red := func() string { return s.freshNode("red", "") }
	return []maker{
		{"fresh", true, leased}, {"freshother", true, red}, {"freshfree", true, func() string { return s.freshNode("", "") }},
		{"freshport", true, func() string { return s.port(leased(), s.mac(), "") }},
		{"freshotherport", true, func() string { return s.port(red(), s.mac(), "") }},
		{"freshgroup", true, func() string { return s.part("/v1/portgroups", leased(), map[string]any{}) }},
		{"freshtarget", true, func() string { return s.target(leased()) }},
		{"freshconnector", true, func() string { return s.connector(leased()) }},
		{"chassis", false, s.chassis}, {"freshchassis", true, s.chassis},
		{"mac", true, s.mac}, {"custom", true, s.custom},
		{"blueallocation", false, func() string { return s.allocation("blue") }},
		{"redallocation", false, func() string { return s.allocation("red") }},
		{"freshallocation", true, func() string { return s.allocation("blue") }},
		{"template", false, s.template}, {"freshtemplate", true, s.template},
		{"inspectionrule", false, s.inspectionRule}, {"freshinspectionrule", true, s.inspectionRule},
		{"bluebook", false, func() string { return s.runbook(map[string]any{"owner": s.known["blue"]}) }},
		{"redbook", false, func() string { return s.runbook(map[string]any{"owner": s.known["red"]}) }},
		{"publicbook", false, func() string { return s.runbook(map[string]any{"public": true}) }},
		{"freshbook", true, func() string { return s.runbook(map[string]any{"owner": s.known["blue"]}) }},
		{"freshotherbook", true, func() string { return s.runbook(map[string]any{"owner": s.known["red"]}) }},
	}
}

func (s *service) freshNode(owner, lessee string) string {
	s.t.Helper()
	s.fresh++
	return s.node(fmt.Sprintf("fresh-%d", s.fresh), s.known[owner], s.known[lessee])
}

func (s *service) mac() string {
	s.fresh++
	return fmt.Sprintf("52:54:01:%02x:%02x:%02x", s.fresh>>16&0xff, s.fresh>>8&0xff, s.fresh&0xff)
}

// custom is a name as traits have it.
func (s *service) custom() string {
	s.fresh++
	return fmt.Sprintf("CUSTOM_%d", s.fresh)
}

// make creates something and gives its UUID.
func (s *service) make(path string, body map[string]any) string {
	s.t.Helper()
	return s.must(http.MethodPost, path, body)["uuid"].(string)
}

// part makes something that belongs to a node.
func (s *service) part(path, node string, body map[string]any) string {
	s.t.Helper()
	body["node_uuid"] = node
	return s.make(path, body)
}

func (s *service) target(node string) string {
	return s.part("/v1/volume/targets", node, map[string]any{
		"volume_type": "iscsi", "boot_index": 0, "volume_id": "v", "properties": map[string]any{"k": "v"},
	})
}

func (s *service) connector(node string) string {
	return s.part("/v1/volume/connectors", node, map[string]any{"type": "iqn", "connector_id": s.mac()})
}

func (s *service) chassis() string { return s.make("/v1/chassis", map[string]any{}) }

// allocation makes one that finds no node, and waits until that is clear:
// before, Ironic fails to change it.
func (s *service) allocation(owner string) string {
	s.t.Helper()
	uuid := s.make("/v1/allocations", map[string]any{"resource_class": "none-such", "owner": s.known[owner]})
	s.await("the allocation", func() bool { return s.must(http.MethodGet, "/v1/allocations/"+uuid, nil)["state"] == "error" })
	return uuid
}

func (s *service) template() string {
	return s.make("/v1/deploy_templates", map[string]any{"name": s.custom(), "steps": []any{
		map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}, "priority": 10},
	}})
}

func (s *service) inspectionRule() string {
	action := map[string]any{"op": "set-attribute", "args": map[string]any{"path": "/extra/k", "value": "v"}}
	return s.make("/v1/inspection_rules", map[string]any{"actions": []any{action}, "conditions": []any{}})
}

func (s *service) runbook(more map[string]any) string {
	more["name"], more["steps"] = s.custom(), []any{
		map[string]any{"interface": "bios", "step": "x", "args": map[string]any{}, "order": 1},
	}
	return s.make("/v1/runbooks", more)
}
