package v1

import (
	"fmt"
	"slices"
	"strconv"

	"ferrule/metal"
)

// stepForm is how the steps of a template or a runbook look.
type stepForm struct {
	ordinal   string // the key of the number that decides the order
	needsArgs bool
}

// The two kinds (Ironic: DEPLOY_STEP_SCHEMA, RUNBOOK_STEP_SCHEMA).
var (
	templateStep = stepForm{ordinal: "priority", needsArgs: true}
	runbookStep  = stepForm{ordinal: "order"}
)

func (f stepForm) keys() []string { return []string{"interface", "step", "args", f.ordinal} }

// stepsProperty is a list of steps, in whose arguments secrets are masked.
func stepsProperty[T any](form stepForm, at func(v *T) *metal.JSON) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte {
			if !mayHoldSecret(string(*at(v))) {
				return append(b, *at(v)...)
			}
			steps := stepList(*at(v))
			for _, item := range steps {
				if step, ok := item.(map[string]any); ok {
					step["args"] = masked(step["args"])
				}
			}
			return append(b, metal.ToJSON(steps)...)
		},
		get: func(v *T) any { return stepList(*at(v)) },
		set: func(v *T, value any) error {
			steps, err := form.read(value)
			if err == nil {
				*at(v) = metal.ToJSON(steps)
			}
			return err
		},
	}
}

// stepList is the steps as a document.
func stepList(j metal.JSON) []any {
	steps := []any{}
	if err := j.Decode(&steps); err != nil {
		return []any{}
	}
	return steps
}

// read checks a list of steps: one at least, and of each interface and step one
// at most. Digits become numbers.
func (f stepForm) read(value any) ([]any, error) {
	steps, ok := value.([]any)
	if !ok || len(steps) == 0 {
		return nil, badRequest("Schema error for steps: a list of one step at least is needed")
	}
	seen := map[[2]string]bool{}
	for i, item := range steps {
		step, ok := item.(map[string]any)
		if !ok {
			return nil, badRequest("Schema error for steps: step %d is not an object", i)
		}
		if err := f.check(i, step); err != nil {
			return nil, err
		}
		key := [2]string{step["interface"].(string), step["step"].(string)}
		if seen[key] {
			return nil, badRequest("Duplicate steps: interface %s, step %s. Each interface and step may be named once.", key[0], key[1])
		}
		seen[key] = true
		if !has(step, "args") {
			step["args"] = map[string]any{}
		}
	}
	return steps, nil
}

func (f stepForm) check(i int, step map[string]any) error {
	for key := range step {
		if !slices.Contains(f.keys(), key) {
			return badRequest("Schema error for steps: step %d has the unexpected key %q", i, key)
		}
	}
	on, _ := step["interface"].(string)
	if !slices.Contains(stepInterfaces, on) {
		return badRequest("Schema error for steps: the interface of step %d is not one of %v", i, stepInterfaces)
	}
	if name, _ := step["step"].(string); name == "" {
		return badRequest("Schema error for steps: step %d has no step", i)
	}
	if args, given := step["args"]; given || f.needsArgs {
		if _, ok := args.(map[string]any); !ok {
			return badRequest("Schema error for steps: the args of step %d are not an object", i)
		}
	}
	if !isOrdinal(step[f.ordinal]) {
		return badRequest("Schema error for steps: the %s of step %d is not a whole number", f.ordinal, i)
	}
	n, err := strconv.ParseInt(fmt.Sprint(step[f.ordinal]), 10, 32)
	if err != nil {
		return badRequest("Schema error for steps: the %s of step %d is out of range", f.ordinal, i)
	}
	step[f.ordinal] = n
	return nil
}

// prune drops from the steps of a patched document what no step has.
func (f stepForm) prune(doc map[string]any) {
	steps, _ := doc["steps"].([]any)
	for _, item := range steps {
		step, _ := item.(map[string]any)
		for key := range step {
			if !slices.Contains(f.keys(), key) {
				delete(step, key)
			}
		}
	}
}

// traitNameProperty is a name that is a trait.
func traitNameProperty[T any](at func(v *T) *string) property[T] {
	p := wordProperty("name", at)
	p.set = func(v *T, value any) error {
		name, ok := value.(string)
		if !ok || !metal.IsTrait(name) {
			return badTrait(value)
		}
		*at(v) = name
		return nil
	}
	return p
}
