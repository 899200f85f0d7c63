package v1

import (
	"context"
	"fmt"

	"ferrule/metal"
	"ferrule/store"
)

// What is kept sealed of deploy templates, runbooks, inspection rules and the
// steps of a verb's request.

// sealSteps moves the credentials in the arguments of steps to secrets of the
// template or runbook. Of each interface and step there is one at most, so that
// a mask finds what it stands for wherever the step has moved.
func sealSteps(kind metal.SecretOwner, uuid string, before metal.JSON, after *metal.JSON) (*secretChanges, error) {
	if before == *after {
		return changesOf(""), nil
	}
	steps := stepList(*after)
	seal := &metal.Sealing{Place: metal.SecretPlace{Owner: kind, UUID: uuid, Path: "steps"}, Typed: true, Old: argsByStep(stepList(before))}
	moved, err := seal.Move(argsByStep(steps))
	if err != nil {
		return nil, err
	}
	args := moved.(map[string]any)
	for _, item := range steps {
		if step, ok := item.(map[string]any); ok && has(step, "args") {
			step["args"] = args[stepName(step)]
		}
	}
	*after = metal.ToJSON(steps)
	return changesOf("", seal), nil
}

func argsByStep(steps []any) map[string]any {
	args := map[string]any{}
	for _, item := range steps {
		if step, ok := item.(map[string]any); ok {
			args[stepName(step)] = step["args"]
		}
	}
	return args
}

func stepName(step map[string]any) string { return fmt.Sprint(step["interface"], ".", step["step"]) }

// sealRule moves the credentials in actions and conditions to secrets of the
// rule: what stands under a key that Ironic masks, what an action writes to a
// credential's place, and of a sensitive rule every value.
func sealRule(before, after *metal.InspectionRule) (*secretChanges, error) {
	var all []*metal.Sealing
	for place, part := range map[string][2]*metal.JSON{
		"actions": {&before.Actions, &after.Actions}, "conditions": {&before.Conditions, &after.Conditions},
	} {
		if *part[0] == *part[1] && before.Sensitive == after.Sensitive {
			continue
		}
		ops := stepList(*part[1])
		seal := &metal.Sealing{
			Place: metal.SecretPlace{Owner: metal.InspectionRuleSecrets, UUID: after.UUID, Path: place}, Typed: true,
			Pairs: place == "actions", Whole: after.Sensitive, Old: ruleValues(stepList(*part[0])),
		}
		moved, err := seal.Move(ruleValues(ops))
		if err != nil {
			return nil, err
		}
		for i, item := range moved.([]any) {
			for key, value := range item.(map[string]any) {
				ops[i].(map[string]any)[key] = value
			}
		}
		*part[1] = metal.ToJSON(ops)
		all = append(all, seal)
	}
	return changesOf("", all...), nil
}

// ruleValues are the parts of operations that hold values.
func ruleValues(ops []any) []any {
	list := make([]any, len(ops))
	for i, item := range ops {
		op, _ := item.(map[string]any)
		values := map[string]any{}
		for _, key := range []string{"args", "loop"} {
			if has(op, key) {
				values[key] = op[key]
			}
		}
		list[i] = values
	}
	return list
}

// openSteps puts values in the place of the refs that steps hold of the template
// or runbook they come from: what is begun with them goes on when it is changed.
func (s *Service) openSteps(ctx context.Context, tx *store.Tx, kind metal.SecretOwner, uuid string, steps any) (any, error) {
	return s.openSecrets(ctx, tx, steps, metal.SecretPlace{Owner: kind, UUID: uuid})
}

// sealOperation moves the credentials in an operation's arguments to secrets of
// its node, which go when it ends.
func sealOperation(op *metal.OperationRecord) (*secretChanges, error) {
	seal := &metal.Sealing{Place: op.Secrets(), Typed: true}
	moved, err := seal.Move(op.Args.Object())
	if err != nil {
		return nil, err
	}
	op.Args = metal.ToJSON(moved)
	return changesOf(op.NodeUUID, seal), nil
}
