package v1

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// stepLimits are the steps that no request may name.
type stepLimits struct {
	clean, deploy, service []string
}

// stepInterfaces are the interfaces whose steps a request may name
// (Ironic: conductor/steps.CLEANING_INTERFACE_PRIORITY).
var stepInterfaces = []string{"vendor", "power", "management", "firmware", "deploy", "bios", "raid"}

// checkSteps checks clean_steps or service_steps, which must be given.
func checkSteps(kind string, steps []any, disallowed []string) error {
	if len(steps) == 0 {
		return badRequest("%q is required when setting target provision state to %s", kind+"_steps", kind)
	}
	for _, item := range steps {
		m, ok := item.(map[string]any)
		if !ok {
			return badRequest("Invalid %s_steps: a step is not an object", kind)
		}
		if err := checkStep(kind, m, disallowed, "args", "order", "execute_on_child_nodes", "limit_child_node_execution"); err != nil {
			return err
		}
		if v, given := m["order"]; given && !isOrdinal(v) {
			return badRequest("Invalid %s_steps: order is not a whole number", kind)
		}
		if err := checkChildNodes(kind, m); err != nil {
			return err
		}
	}
	return nil
}

func checkChildNodes(kind string, step map[string]any) error {
	onChildren, given := step["execute_on_child_nodes"]
	wanted, isBool := onChildren.(bool)
	if given && !isBool {
		return badRequest("Invalid %s_steps: execute_on_child_nodes is not a boolean", kind)
	}
	v, given := step["limit_child_node_execution"]
	list, isList := v.([]any)
	if given && !isList {
		return badRequest("Invalid %s_steps: limit_child_node_execution is not a list", kind)
	}
	for _, entry := range list {
		if s, ok := entry.(string); wanted && (!ok || !isUUIDLike(s)) {
			return badRequest("Invalid %s_steps: limit_child_node_execution holds what is no node UUID", kind)
		}
	}
	return nil
}

// checkDeploySteps checks deploy_steps, which may be missing.
func checkDeploySteps(steps []any, disallowed []string) error {
	for _, item := range steps {
		m, ok := item.(map[string]any)
		if !ok {
			return badRequest("Invalid deploy_steps: a step is not an object")
		}
		if err := checkStep("deploy", m, disallowed, "args", "priority"); err != nil {
			return err
		}
		if _, ok := m["args"]; !ok {
			return badRequest("Invalid deploy_steps: args is a required property")
		}
		if !isOrdinal(m["priority"]) {
			return badRequest("Invalid deploy_steps: priority is not a whole number")
		}
		if m["interface"] == "deploy" && m["step"] == "deploy" && strings.Trim(fmt.Sprint(m["priority"]), "0") != "" {
			return badRequest("Invalid deploy_steps: the core step deploy.deploy can only be disabled, with priority 0")
		}
	}
	return nil
}

// checkStep checks what every sort of step has.
func checkStep(kind string, step map[string]any, disallowed []string, optional ...string) error {
	for key := range step {
		if key != "interface" && key != "step" && !slices.Contains(optional, key) {
			return badRequest("Invalid %s_steps: unexpected key %q", kind, key)
		}
	}
	on, _ := step["interface"].(string)
	if !slices.Contains(stepInterfaces, on) {
		return badRequest("Invalid %s_steps: interface is not one of %v", kind, stepInterfaces)
	}
	name, _ := step["step"].(string)
	if name == "" {
		return badRequest("Invalid %s_steps: step is missing or empty", kind)
	}
	if args, given := step["args"]; given {
		if _, ok := args.(map[string]any); !ok {
			return badRequest("Invalid %s_steps: args is not an object", kind)
		}
	}
	if slices.Contains(disallowed, on+"."+name) {
		return badRequest("The %s step %s.%s is not allowed by this deployment's configuration.", kind, on, name)
	}
	return nil
}

// isOrdinal takes a whole number from 0 up, or a string of digits.
func isOrdinal(v any) bool {
	var text string
	switch t := v.(type) {
	case json.Number:
		text = t.String()
	case string:
		text = t
	}
	if text == "" {
		return false
	}
	for _, r := range text {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}
