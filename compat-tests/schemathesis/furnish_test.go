package schemathesis

import (
	"fmt"
	"net/http"

	"ferrule/compat-tests/plane"
	"ferrule/openapi"
)

// objects are what hooks.py puts into requests, by the name of the path's
// parameter, "?" and that of the query's, or "=" and that of the body's.
// "DELETE name" are those that may go.
type objects map[string][]string

// kept is how many of each kind stay; some more may go.
const (
	kept = 4
	more = 3
)

// furnish makes some of everything. Names hold the version, so that each run
// has its own.
func furnish(p *plane.Plane, v openapi.Version) objects {
	o := objects{
		"driver": {"fake-hardware", "redfish"}, "method": {"first_method", "second_method", "third_method_sync"},
		"indicator": {"led@system", "led-0@chassis"}, "setting": {"virtualization"}, "trait": {"CUSTOM_A"}, "vif": {"v1"},
		"=driver": {"fake-hardware", "manual-management", "redfish"}, "?sort_key": {"uuid", "created_at", "name"},
		"?sort_dir": {"asc", "desc"}, "?fields": {"uuid", "uuid,name"}, "?address": {"52:54:00:00:00:01"},
		"=name": {fmt.Sprintf("CUSTOM_ONE_%d", v), fmt.Sprintf("CUSTOM_TWO_%d", v)},
	}
	nodes := o.make(p, "node", "/v1/nodes", func(i int) map[string]any {
		return map[string]any{"driver": "fake-hardware", "name": fmt.Sprintf("n-%d-%d", v, i), "resource_class": "rc"}
	})
	for _, n := range nodes[:2] {
		p.Provision(n, "manage", nil)
		p.Must(http.MethodPut, "/v1/nodes/"+n+"/traits/CUSTOM_A", nil)
	}
	of := func(i int) string { return nodes[i%kept] }
	o.make(p, "port", "/v1/ports", func(i int) map[string]any {
		return map[string]any{"node_uuid": of(i), "address": fmt.Sprintf("52:54:00:00:%02x:%02x", int(v), i)}
	})
	groups := o.make(p, "portgroup", "/v1/portgroups", func(i int) map[string]any { return map[string]any{"node_uuid": of(i)} })
	chassis := o.make(p, "chassis", "/v1/chassis", func(int) map[string]any { return map[string]any{} })
	o.make(p, "connector", "/v1/volume/connectors", func(i int) map[string]any {
		return map[string]any{"node_uuid": of(i), "type": "iqn", "connector_id": fmt.Sprintf("c-%d-%d", v, i)}
	})
	o.make(p, "target", "/v1/volume/targets", func(i int) map[string]any {
		return map[string]any{"node_uuid": of(i), "volume_type": "iscsi", "volume_id": "v", "boot_index": i}
	})
	o.make(p, "allocation", "/v1/allocations", func(i int) map[string]any {
		return map[string]any{"resource_class": "none", "name": fmt.Sprintf("a-%d-%d", v, i)}
	})
	step := map[string]any{"interface": "bios", "step": "factory_reset"}
	o.make(p, "template", "/v1/deploy_templates", func(i int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("CUSTOM_T_%d_%d", v, i), "steps": []any{with(step, "args", map[string]any{}, "priority", 1)}}
	})
	runbooks := o.make(p, "runbook", "/v1/runbooks", func(i int) map[string]any {
		return map[string]any{"name": fmt.Sprintf("CUSTOM_B_%d_%d", v, i), "steps": []any{with(step, "order", 1)}}
	})
	o.make(p, "inspection_rule", "/v1/inspection_rules", func(int) map[string]any {
		return map[string]any{"actions": []any{map[string]any{"op": "fail", "args": map[string]any{"msg": "m"}}}, "conditions": []any{}}
	})
	for name, uuids := range map[string][]string{"node": nodes, "node_uuid": nodes, "parent_node": nodes, "chassis_uuid": chassis,
		"portgroup": groups, "portgroup_uuid": groups, "runbook": runbooks, "marker": nodes} {
		o["?"+name], o["="+name] = uuids, uuids
	}
	list := p.Must(http.MethodGet, "/v1/conductors", nil)["conductors"].([]any)
	o["hostname"] = []string{list[0].(map[string]any)["hostname"].(string)}
	return o
}

// make makes some things of a kind, and gives those that stay.
func (o objects) make(p *plane.Plane, name, path string, body func(i int) map[string]any) []string {
	var all []string
	for i := range kept + more {
		all = append(all, p.Must(http.MethodPost, path, body(i))["uuid"].(string))
	}
	o[name], o["DELETE "+name] = all[:kept], all[kept:]
	return all[:kept]
}

// with is an object with more in it.
func with(object map[string]any, pairs ...any) map[string]any {
	out := map[string]any{}
	for k, v := range object {
		out[k] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}
