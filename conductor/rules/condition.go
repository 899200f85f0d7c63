package rules

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// operator is what a condition asks of its arguments.
type operator struct {
	formats []string // the arguments that are filled in outside of a loop too
	holds   func(args map[string]any) (bool, error)
}

// operators are Ironic's (inspection_rules/operators).
var operators = map[string]operator{
	"eq":       {[]string{"values"}, chain(func(a, b any) (bool, error) { return equal(a, b), nil }, "eq")},
	"lt":       {[]string{"values"}, chain(func(a, b any) (bool, error) { return less(a, b, "<") }, "lt")},
	"gt":       {[]string{"values"}, chain(func(a, b any) (bool, error) { return less(b, a, ">") }, "gt")},
	"is-empty": {[]string{"value"}, isEmpty},
	"is-none":  {[]string{"value"}, func(args map[string]any) (bool, error) { return args["value"] == nil, nil }},
	"is-true":  {[]string{"value"}, isTrue},
	"is-false": {[]string{"value"}, isFalse},
	"in-net":   {[]string{"address", "subnet"}, inNet},
	"matches":  {[]string{"value"}, matches},
	"contains": {[]string{"value"}, contains},
	"one-of":   {[]string{"value"}, oneOf},
}

// check reports whether a condition holds; over a loop, as multiple says.
func (r *run) check(o *operation) (bool, error) {
	op, not, err := inverted(o.Op)
	if err != nil {
		return false, err
	}
	known, ok := operators[op]
	if !ok {
		return false, fmt.Errorf("Unsupported operator: '%s'. Supported operators are: eq, lt, gt, is-empty, in-net, matches, "+
			"contains, one-of, is-none, is-true, is-false.", op)
	}
	one := func(in *scope) (bool, error) {
		args, err := in.arguments(op, metal.RuleConditions[op], o.Args, known.formats)
		if err != nil {
			return false, err
		}
		if in.looped {
			args["force_strings"] = true // filling in has made texts of numbers
		}
		holds, err := known.holds(args)
		if err == nil {
			err = r.inTime()
		}
		return holds != not, err
	}
	scopes := r.scopes(o)
	if !scopes[0].looped {
		return one(scopes[0])
	}
	return over(scopes, o.Multiple, one)
}

// over asks for each turn of a loop. first goes no further than the first turn
// that holds; last goes by the last one.
func over(scopes []*scope, multiple string, one func(*scope) (bool, error)) (bool, error) {
	anyHolds, allHold, last := false, true, false
	for _, in := range scopes {
		holds, err := one(in)
		if err != nil {
			return false, err
		}
		if multiple == "first" && holds {
			return true, nil
		}
		anyHolds, allHold, last = anyHolds || holds, allHold && holds, holds
	}
	switch multiple {
	case "all":
		return allHold, nil
	case "last":
		return last, nil
	}
	return anyHolds, nil // of first: none
}

// chain holds where each value and its next do.
func chain(pair func(a, b any) (bool, error), name string) func(args map[string]any) (bool, error) {
	return func(args map[string]any) (bool, error) {
		values, ok := args["values"].([]any)
		if !ok {
			return false, conditionFailed("Failed to check condition: '%s' on values: %s: Expected list for 'values', got: %s",
				name, pytext.Str(args["values"]), typeName(args["values"]))
		}
		if truthy(args["force_strings"]) && len(values) > 1 {
			texts := make([]any, len(values))
			for i, v := range values {
				texts[i] = pytext.Str(v)
			}
			values = texts
		}
		for i := 1; i < len(values); i++ {
			if holds, err := pair(values[i-1], values[i]); err != nil || !holds {
				return false, err
			}
		}
		return true, nil
	}
}

func isEmpty(args map[string]any) (bool, error) {
	switch pytext.Str(args["value"]) {
	case "", "None", "[]", "{}":
		return true, nil
	}
	return false, nil
}

func isTrue(args map[string]any) (bool, error) {
	if text, ok := args["value"].(string); ok {
		return strings.EqualFold(text, "yes") || strings.EqualFold(text, "true"), nil
	}
	return isNumber(args["value"]) && truthy(args["value"]), nil
}

func isFalse(args map[string]any) (bool, error) {
	if text, ok := args["value"].(string); ok {
		return strings.EqualFold(text, "no") || strings.EqualFold(text, "false"), nil
	}
	return args["value"] == nil || isNumber(args["value"]) && !truthy(args["value"]), nil
}

func inNet(args map[string]any) (bool, error) {
	subnet, err := network(pytext.Str(args["subnet"]))
	if err != nil {
		return false, executionFailed("invalid value: %v", err)
	}
	address, err := netip.ParseAddr(pytext.Str(args["address"]))
	if err != nil {
		return false, fmt.Errorf("failed to detect a valid IP address from %s", pytext.Repr(args["address"]))
	}
	return subnet.Contains(address.WithZone("")), nil
}

// network reads an address, a prefix, or an address with a mask of either kind
// (netaddr.IPNetwork).
func network(text string) (netip.Prefix, error) {
	invalid := fmt.Errorf("invalid IPNetwork %s", text)
	host, mask, masked := strings.Cut(text, "/")
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}, invalid
	}
	if !masked {
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix, nil
	}
	bits, err := maskBits(mask)
	if err != nil || bits > address.BitLen() {
		return netip.Prefix{}, invalid
	}
	return netip.PrefixFrom(address, bits), nil
}

// maskBits counts the ones in front of a mask such as 255.255.0.0, or the zeros
// in front of one such as 0.0.255.255.
func maskBits(text string) (int, error) {
	mask, err := netip.ParseAddr(text)
	if err != nil {
		return 0, err
	}
	var bits strings.Builder
	for _, b := range mask.AsSlice() {
		fmt.Fprintf(&bits, "%08b", b)
	}
	all := bits.String()
	ones := strings.Count(all, "1")
	switch all {
	case strings.Repeat("1", ones) + strings.Repeat("0", len(all)-ones):
		return ones, nil
	case strings.Repeat("0", len(all)-ones) + strings.Repeat("1", ones):
		return len(all) - ones, nil
	}
	return 0, errors.New("not a mask")
}

func oneOf(args map[string]any) (bool, error) {
	if !has(args, "values") {
		return false, nil
	}
	return within(args["value"], args["values"])
}

// within is Python's "value in container".
func within(value, container any) (bool, error) {
	switch c := container.(type) {
	case []any:
		for _, item := range c {
			if equal(value, item) {
				return true, nil
			}
		}
		return false, nil
	case map[string]any:
		key, ok := value.(string)
		return ok && has(c, key), nil
	case string:
		text, ok := value.(string)
		if !ok {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", typeName(value))
		}
		return strings.Contains(c, text), nil
	}
	return false, fmt.Errorf("argument of type '%s' is not iterable", typeName(container))
}
