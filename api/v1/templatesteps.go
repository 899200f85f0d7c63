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
	switch {
	case !ok:
		return nil, wrongType(value, "array")
	case len(steps) == 0:
		return nil, empty(value)
	}
	seen := map[[2]string]bool{}
	for _, item := range steps {
		step, ok := item.(map[string]any)
		if !ok {
			return nil, wrongType(item, "object")
		}
		if err := f.check(step); err != nil {
			return nil, err
		}
		key := [2]string{step["interface"].(string), step["step"].(string)}
		if seen[key] {
			return nil, badRequest("Deploy template invalid: Duplicate deploy steps. A template cannot have multiple deploy steps "+
				"with the same interface and step. Duplicates: interface: %s, step: %s.", key[0], key[1])
		}
		seen[key] = true
		if !has(step, "args") {
			step["args"] = map[string]any{}
		}
	}
	return steps, nil
}

func (f stepForm) check(step map[string]any) error {
	if err := onlyKnown(step, among(f.keys()...)); err != nil {
		return err
	}
	needed := []string{"interface", "step", f.ordinal}
	if f.needsArgs {
		needed = append(needed, "args")
	}
	for _, name := range needed {
		if !has(step, name) {
			return missing(name)
		}
	}
	if err := checkNamedStep(step); err != nil {
		return err
	}
	if err := checkOrdinal(step[f.ordinal]); err != nil {
		return err
	}
	n, err := strconv.ParseInt(fmt.Sprint(step[f.ordinal]), 10, 32)
	if err != nil {
		return violates("%s is out of range", shown(step[f.ordinal]))
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
		if err := checkTrait(value); err != nil {
			return err
		}
		*at(v) = value.(string)
		return nil
	}
	return p
}
