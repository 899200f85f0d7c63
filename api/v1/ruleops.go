package v1

import (
	"maps"
	"slices"
	"strings"

	"ferrule/metal"
)

// rulesProperty is a list of actions or conditions of an inspection rule. Of a
// sensitive rule nobody reads them.
func rulesProperty(name string, known map[string]metal.RuleOp, at func(r *metal.InspectionRule) *metal.JSON) property[metal.InspectionRule] {
	return property[metal.InspectionRule]{
		show: func(b []byte, r *metal.InspectionRule, _ *encoding) []byte {
			if r.Sensitive {
				return append(b, "null"...)
			}
			if !strings.Contains(string(*at(r)), "://") {
				return append(b, *at(r)...)
			}
			shown, _ := metal.ReplaceRefs(stepList(*at(r)), func(string) (any, error) { return metal.Masked, nil })
			return append(b, metal.ToJSON(shown)...)
		},
		get: func(r *metal.InspectionRule) any { return stepList(*at(r)) },
		set: func(r *metal.InspectionRule, value any) error {
			list, err := readRuleOps(name, known, value)
			if err == nil {
				*at(r) = metal.ToJSON(list)
			}
			return err
		},
	}
}

// readRuleOps checks a list of actions, of which there must be one, or of
// conditions.
func readRuleOps(name string, known map[string]metal.RuleOp, value any) ([]any, error) {
	items, ok := value.([]any)
	switch {
	case !ok:
		return nil, wrongType(value, "array")
	case len(items) == 0 && name == "actions":
		return nil, empty(value)
	}
	list := make([]any, len(items))
	for i, item := range items {
		given, ok := item.(map[string]any)
		if !ok {
			return nil, wrongType(item, "object")
		}
		op, err := readRuleOp(name, known, given)
		if err != nil {
			return nil, err
		}
		list[i] = op
	}
	return list, nil
}

// readRuleOp is one action or condition, less what it does not know.
func readRuleOp(name string, known map[string]metal.RuleOp, given map[string]any) (map[string]any, error) {
	word, _ := given["op"].(string)
	plain := word
	if name == "conditions" {
		plain = strings.TrimPrefix(word, "!")
	}
	op, ok := known[plain]
	if !ok {
		return nil, notOneOf(given["op"], slices.Sorted(maps.Keys(known)))
	}
	if name == "actions" && word == "api-call" {
		return nil, badRequest("The action api-call is not built in: Ferrule's control plane calls no address that a rule names.")
	}
	if err := checkRuleArgs(word, op, given["args"]); err != nil {
		return nil, err
	}
	out := map[string]any{"op": word, "args": given["args"]}
	loop, looped := given["loop"]
	switch loop.(type) {
	case []any, map[string]any:
	default:
		if looped {
			return nil, wrongType(loop, "array", "object")
		}
	}
	multiple, named := given["multiple"]
	if named && name == "conditions" {
		how, _ := multiple.(string)
		if ways := []string{"any", "all", "first", "last"}; !slices.Contains(ways, how) {
			return nil, notOneOf(multiple, ways)
		}
	}
	if truthy(loop) {
		out["loop"] = loop
		if name == "conditions" {
			out["multiple"] = "any"
			if named {
				out["multiple"] = multiple
			}
		}
	}
	return out, nil
}

// checkRuleArgs holds the arguments, by name or by place, to those that the
// operation takes.
func checkRuleArgs(word string, op metal.RuleOp, args any) error {
	switch given := args.(type) {
	case []any:
		if len(given) < len(op.Required) {
			return badRequest("Invalid parameters for operator %s: missing required argument(s): %s",
				word, strings.Join(op.Required[len(given):], ", "))
		}
		return nil
	case map[string]any:
		for _, name := range op.Required {
			if !has(given, name) {
				return badRequest("Invalid parameters for operator %s: missing required argument(s): %s", word, name)
			}
		}
		for name := range given {
			if !slices.Contains(op.Required, name) && !slices.Contains(op.Optional, name) {
				return badRequest("Invalid parameters for operator %s: unexpected argument(s): %s", word, name)
			}
		}
		return nil
	}
	return badRequest("Invalid parameters for operator %s: args must be either a list or an object", word)
}
