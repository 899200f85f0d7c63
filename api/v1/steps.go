package v1

import (
	"encoding/json"
	"errors"
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
		step, err := readStep(item, "args", "order", "execute_on_child_nodes", "limit_child_node_execution")
		if err == nil {
			err = checkOptions(step)
		}
		if err == nil {
			err = checkAllowed(kind, step, disallowed)
		}
		if err != nil {
			return invalidSteps(kind, err)
		}
	}
	return nil
}

// invalidSteps says of which steps a violation is.
func invalidSteps(kind string, err error) error {
	var v *violation
	if errors.As(err, &v) {
		return badRequest("Invalid %s_steps: %s", kind, v.words)
	}
	return err
}

// checkOptions checks what only cleaning and servicing have.
func checkOptions(step map[string]any) error {
	if v, given := step["order"]; given {
		if err := checkOrdinal(v); err != nil {
			return err
		}
	}
	onChildren, given := step["execute_on_child_nodes"]
	wanted, isBool := onChildren.(bool)
	if given && !isBool {
		return wrongType(onChildren, "boolean")
	}
	v, given := step["limit_child_node_execution"]
	list, isList := v.([]any)
	if given && !isList {
		return wrongType(v, "array")
	}
	for _, entry := range list {
		if s, ok := entry.(string); wanted && (!ok || !isUUIDLike(s)) {
			return violates("limit_child_node_execution holds what is no node UUID")
		}
	}
	return nil
}

// checkDeploySteps checks deploy_steps, which may be missing.
func checkDeploySteps(steps []any, disallowed []string) error {
	for _, item := range steps {
		step, err := readStep(item, "args", "priority")
		if err == nil {
			err = checkDeployStep(step)
		}
		if err == nil {
			err = checkAllowed("deploy", step, disallowed)
		}
		if err != nil {
			return invalidSteps("deploy", err)
		}
	}
	return nil
}

func checkDeployStep(step map[string]any) error {
	for _, name := range []string{"args", "priority"} {
		if _, ok := step[name]; !ok {
			return missing(name)
		}
	}
	if err := checkOrdinal(step["priority"]); err != nil {
		return err
	}
	if step["interface"] == "deploy" && step["step"] == "deploy" && strings.Trim(fmt.Sprint(step["priority"]), "0") != "" {
		return violates("the core step deploy.deploy can only be disabled, with priority 0")
	}
	return nil
}

// readStep checks what every sort of step has.
func readStep(item any, optional ...string) (map[string]any, error) {
	step, ok := item.(map[string]any)
	if !ok {
		return nil, wrongType(item, "object")
	}
	if err := onlyKnown(step, among(append(optional, "interface", "step")...)); err != nil {
		return nil, err
	}
	for _, name := range []string{"interface", "step"} {
		if _, given := step[name]; !given {
			return nil, missing(name)
		}
	}
	return step, checkNamedStep(step)
}

// checkNamedStep checks the values that name a step, and its arguments.
func checkNamedStep(step map[string]any) error {
	if on, _ := step["interface"].(string); !slices.Contains(stepInterfaces, on) {
		return notOneOf(step["interface"], stepInterfaces)
	}
	switch name, ok := step["step"].(string); {
	case !ok:
		return wrongType(step["step"], "string")
	case name == "":
		return empty(name)
	}
	if args, given := step["args"]; given {
		if _, ok := args.(map[string]any); !ok {
			return wrongType(args, "object")
		}
	}
	return nil
}

// checkAllowed refuses a step that this deployment forbids.
func checkAllowed(kind string, step map[string]any, disallowed []string) error {
	name := fmt.Sprintf("%s.%s", step["interface"], step["step"])
	if slices.Contains(disallowed, name) {
		return badRequest("The %s step %s is not allowed by this deployment's configuration.", kind, name)
	}
	return nil
}

// checkOrdinal takes a whole number from 0 up, or a string of digits.
func checkOrdinal(v any) error {
	if isOrdinal(v) {
		return nil
	}
	switch t := v.(type) {
	case json.Number:
		if n, err := t.Int64(); err == nil && n < 0 {
			return negative(v)
		}
	case string:
		return noMatch(v, "^[0-9]+$")
	}
	return noAlternative(v, wrongType(v, "integer"))
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
