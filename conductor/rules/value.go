package rules

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// typeName is what Python calls the type of a value.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case string:
		return "str"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			return "float"
		}
		return "int"
	case []any:
		return "list"
	case map[string]any:
		return "dict"
	}
	return fmt.Sprintf("%T", v)
}

// number is a number, as which a boolean counts too.
func number(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case bool:
		if v {
			return big.NewRat(1, 1), true
		}
		return new(big.Rat), true
	case json.Number:
		if strings.ContainsAny(string(v), "eE") {
			f, err := v.Float64()
			if err != nil {
				return nil, false // without end
			}
			return new(big.Rat).SetFloat64(f), true
		}
		return new(big.Rat).SetString(string(v))
	}
	return nil, false
}

func isNumber(v any) bool {
	_, ok := number(v)
	return ok
}

// truthy is whether Python takes a value for true.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	n, ok := number(v)
	return !ok || n.Sign() != 0
}

// equal is Python's ==.
func equal(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		text, ok := b.(string)
		return ok && a == text
	case []any:
		list, ok := b.([]any)
		if !ok || len(a) != len(list) {
			return false
		}
		for i := range a {
			if !equal(a[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := b.(map[string]any)
		if !ok || len(a) != len(object) {
			return false
		}
		for key := range a {
			if !has(object, key) || !equal(a[key], object[key]) {
				return false
			}
		}
		return true
	}
	return false
}

// less is Python's a < b; sign is how the rule wrote it, with its sides that way
// round.
func less(a, b any, sign string) (bool, error) {
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return x.Cmp(y) < 0, nil
		}
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return x < y, nil
		}
	case []any:
		if y, ok := b.([]any); ok {
			return lessList(x, y, sign)
		}
	}
	left, right := a, b
	if sign == ">" {
		left, right = b, a
	}
	return false, fmt.Errorf("'%s' not supported between instances of '%s' and '%s'", sign, typeName(left), typeName(right))
}

func lessList(a, b []any, sign string) (bool, error) {
	for i := range min(len(a), len(b)) {
		if !equal(a[i], b[i]) {
			return less(a[i], b[i], sign)
		}
	}
	return len(a) < len(b), nil
}
