package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
)

// Check refuses a rule that could not be carried out whatever an inspection
// found: unknown actions and conditions, and arguments that are not theirs.
func Check(rule *metal.InspectionRule) error {
	var conditions, actions []operation
	if err := rule.Conditions.Decode(&conditions); err != nil {
		return fmt.Errorf("the conditions are to be a list of operations: %w", err)
	}
	if err := rule.Actions.Decode(&actions); err != nil {
		return fmt.Errorf("the actions are to be a list of operations: %w", err)
	}
	if len(actions) == 0 {
		return errors.New("a rule without actions does nothing")
	}
	for i := range conditions {
		op, _, err := inverted(conditions[i].Op)
		if err != nil {
			return err
		}
		if err := conditions[i].check(op, metal.RuleConditions); err != nil {
			return err
		}
		if how := conditions[i].Multiple; how != "" && !slices.Contains([]string{"any", "all", "first", "last"}, how) {
			return fmt.Errorf("multiple of %s is any, all, first or last, not %q", op, how)
		}
	}
	for i := range actions {
		if actions[i].Op == "api-call" {
			return apiCall(nil, nil)
		}
		if err := actions[i].check(actions[i].Op, metal.RuleActions); err != nil {
			return err
		}
	}
	return nil
}

func (o *operation) check(name string, known map[string]metal.RuleOp) error {
	op, ok := known[name]
	if !ok {
		return fmt.Errorf("there is no operation %q", o.Op)
	}
	switch args := o.Args.(type) {
	case []any:
		if len(args) < len(op.Required) {
			return fmt.Errorf("%s lacks the arguments: %s", name, strings.Join(op.Required[len(args):], ", "))
		}
		return nil
	case map[string]any:
		for _, arg := range op.Required {
			if !has(args, arg) {
				return fmt.Errorf("%s lacks the argument %s", name, arg)
			}
		}
		for arg := range args {
			if !slices.Contains(op.Required, arg) && !slices.Contains(op.Optional, arg) {
				return fmt.Errorf("%s has no argument %s", name, arg)
			}
		}
		return nil
	}
	return fmt.Errorf("the arguments of %s are to be a list or an object", name)
}
