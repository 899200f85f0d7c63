package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrule/metal/pytext"
)

// check is a rule, read.
type check interface {
	// allows is an error where Python would raise one: the rule itself is wrong.
	allows(e *evaluation) (bool, error)
	// String is the rule as oslo.policy writes it; equal texts are equal rules.
	String() string
}

// evaluation is one question put to a rule.
type evaluation struct {
	rules       *ruleset
	credentials Values
	target      Values
	beside      Values // of the target, where it has no key of a name
	depth       int    // of rules that refer to rules
}

// deepest bounds rules that refer to each other in a circle.
const deepest = 200

type (
	always    struct{}
	never     struct{}
	not       struct{ check }
	allOf     []check
	anyOf     []check
	ruleCheck struct{ name string }
	roleCheck struct {
		match string
		role  template
	}
	genericCheck struct {
		kind, match string
		subject     subject
		value       template
	}
)

func (always) allows(*evaluation) (bool, error) { return true, nil }
func (always) String() string                   { return "@" }
func (never) allows(*evaluation) (bool, error)  { return false, nil }
func (never) String() string                    { return "!" }

func (n not) allows(e *evaluation) (bool, error) {
	ok, err := n.check.allows(e)
	return !ok && err == nil, err
}
func (n not) String() string { return "not " + n.check.String() }

func (all *allOf) allows(e *evaluation) (bool, error) {
	for _, c := range *all {
		if ok, err := c.allows(e); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
func (all *allOf) String() string { return joined(*all, " and ") }

func (either *anyOf) allows(e *evaluation) (bool, error) {
	for _, c := range *either {
		if ok, err := c.allows(e); ok || err != nil {
			return ok && err == nil, err
		}
	}
	return false, nil
}
func (either *anyOf) String() string { return joined(*either, " or ") }

func joined(checks []check, word string) string {
	texts := make([]string, len(checks))
	for i, c := range checks {
		texts[i] = c.String()
	}
	return "(" + strings.Join(texts, word) + ")"
}

func (r *ruleCheck) allows(e *evaluation) (bool, error) {
	rule, ok := e.rules.find(r.name)
	if !ok {
		return false, nil
	}
	if e.depth++; e.depth > deepest {
		return false, fmt.Errorf("rule:%s refers to itself by way of other rules", r.name)
	}
	allowed, err := rule.allows(e)
	e.depth--
	return allowed, err
}
func (r *ruleCheck) String() string { return "rule:" + r.name }

func (r *roleCheck) allows(e *evaluation) (bool, error) {
	role, found, err := r.role.fill(e)
	if err != nil || !found {
		return false, err
	}
	held, ok := e.credentials["roles"]
	if !ok {
		return false, nil
	}
	role = strings.ToLower(role)
	same := func(s string) bool { return strings.ToLower(s) == role }
	switch held := held.(type) {
	case []string:
		return slices.ContainsFunc(held, same), nil
	case []any:
		all := make([]string, len(held))
		for i, item := range held {
			if all[i], ok = item.(string); !ok {
				return false, errors.New("a role of the credentials is no text")
			}
		}
		return slices.ContainsFunc(all, same), nil
	}
	return false, errors.New("the roles of the credentials are no list")
}
func (r *roleCheck) String() string { return "role:" + r.match }

func (g *genericCheck) allows(e *evaluation) (bool, error) {
	value, found, err := g.value.fill(e)
	if err != nil || !found {
		return false, err
	}
	if g.subject.err != nil {
		return false, g.subject.err
	}
	if g.subject.path == nil {
		return value == g.subject.literal, nil
	}
	return lookUp(map[string]any(e.credentials), g.subject.path, value)
}
func (g *genericCheck) String() string { return g.kind + ":" + g.match }

// lookUp follows a path into the credentials; where it meets a list, any item
// will do.
func lookUp(v any, path []string, value string) (bool, error) {
	if len(path) == 0 {
		return pytext.Str(v) == value, nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return false, fmt.Errorf("the credentials have nothing called %q inside %s", path[0], pytext.Str(v))
	}
	next, ok := object[path[0]]
	if !ok {
		return false, nil
	}
	switch list := next.(type) {
	case []string:
		for _, item := range list {
			if ok, err := lookUp(item, path[1:], value); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case []any:
		for _, item := range list {
			if ok, err := lookUp(item, path[1:], value); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	}
	return lookUp(next, path[1:], value)
}
