package v1

import (
	"strings"

	"ferrule/metal"
)

// patchRules are the policies on parts of a node, the first that begins a path
// (Ironic: NodesController._authorize_patch_and_get_node).
var patchRules = []struct{ begins, policy string }{
	{"/instance_info", "baremetal:node:update_instance_info"},
	{"/extra", "baremetal:node:update_extra"},
	{"/driver_info", "baremetal:node:update:driver_info"},
	{"/properties", "baremetal:node:update:properties"},
	{"/chassis_uuid", "baremetal:node:update:chassis_uuid"},
	{"/instance_uuid", "baremetal:node:update:instance_uuid"},
	{"/instance_name", "baremetal:node:update_instance_info"},
	{"/lessee", "baremetal:node:update:lessee"},
	{"/owner", "baremetal:node:update:owner"},
	{"/driver", "baremetal:node:update:driver_interfaces"},
	{"/network_data", "baremetal:node:update:network_data"},
	{"/conductor_group", "baremetal:node:update:conductor_group"},
	{"/name", "baremetal:node:update:name"},
	{"/retired", "baremetal:node:update:retired"},
	{"/shard", "baremetal:node:update:shard"},
	{"/parent_node", "baremetal:node:update:parent_node"},
	{"/disable_power_off", "baremetal:node:update:disable_power_off"},
}

// patchPolicies are the policies that a patch of a node needs, each once.
func patchPolicies(ops []patchOp) []string {
	var names []string
	seen := map[string]bool{}
	for _, op := range ops {
		if name := patchPolicy(&op); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	const general = "baremetal:node:update"
	if len(names) == 0 {
		return []string{general}
	}
	return names
}

func patchPolicy(op *patchOp) string {
	for _, rule := range patchRules {
		if strings.HasPrefix(op.Path, rule.begins) {
			return rule.policy
		}
	}
	if isInterfaceField(op.Path[1:]) {
		return "baremetal:node:update:driver_interfaces"
	}
	if strings.HasPrefix(op.Path, "/automated_clean") && op.HasValue && isFalse(op.Value) {
		return "baremetal:node:disable_cleaning"
	}
	return "baremetal:node:update"
}

func isInterfaceField(name string) bool {
	kind, ok := strings.CutSuffix(name, "_interface")
	if !ok {
		return false
	}
	for _, t := range metal.InterfaceTypes() {
		if string(t) == kind {
			return true
		}
	}
	return false
}

// isFalse says whether a value of a patch means false.
func isFalse(v any) bool {
	b, err := optionalBool("automated_clean", v)
	return err == nil && b != nil && !*b
}

// stepPolicy begins the policies on single steps, which only an operator's file
// can have.
const stepPolicy = "baremetal:step:execute:"

// authorizeSteps asks whether the sender may have these steps executed.
func (c *call) authorizeSteps(n *metal.Node, p *provisionRequest) error {
	if !c.rights.enforced || p.runbook != nil && *p.runbook != "" {
		return nil
	}
	var names []string
	if len(p.cleanSteps) > 0 {
		names = append(names, "baremetal:node:set_provision_state:clean_steps")
	}
	if len(p.serviceSteps) > 0 {
		names = append(names, "baremetal:node:set_provision_state:service_steps")
	}
	for _, steps := range [][]any{p.deploySteps, p.cleanSteps, p.serviceSteps} {
		for _, step := range steps {
			described, _ := step.(map[string]any)
			on, _ := described["interface"].(string)
			what, _ := described["step"].(string)
			if name := stepPolicy + on + "." + what; c.rights.policy.Has(name) {
				names = append(names, name)
			}
		}
	}
	return c.authorizeOwned(n, names...)
}
