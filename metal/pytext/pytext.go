// Package pytext writes values of JSON as Python's str() and repr() do: rules of
// Ironic's compare and build such texts. It imports only the standard library.
package pytext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Str is a value as str() writes it.
func Str(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return Repr(v)
}

// Repr is a value as repr() writes it.
func Repr(v any) string { return string(appendRepr(nil, v)) }

func appendRepr(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "None"...)
	case bool:
		if v {
			return append(b, "True"...)
		}
		return append(b, "False"...)
	case string:
		return appendQuoted(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case json.Number:
		return appendNumber(b, v)
	case float64:
		return appendFloat(b, v)
	case []string:
		return appendList(b, v)
	case []any:
		return appendList(b, v)
	case map[string]any:
		return appendObject(b, v)
	}
	return fmt.Append(b, v)
}

func appendList[T any](b []byte, list []T) []byte {
	b = append(b, '[')
	for i, item := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendRepr(b, item)
	}
	return append(b, ']')
}

// appendObject writes the keys in order; Python keeps the order in which they
// were put in, which is no part of a value here.
func appendObject(b []byte, object map[string]any) []byte {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(appendQuoted(b, key), ": "...)
		b = appendRepr(b, object[key])
	}
	return append(b, '}')
}

// appendNumber writes a number of JSON: one without point and exponent is an
// integer of any size.
func appendNumber(b []byte, n json.Number) []byte {
	if !strings.ContainsAny(string(n), ".eE") {
		return append(b, n...)
	}
	f, err := n.Float64()
	if err != nil && f == 0 {
		return append(b, n...)
	}
	return appendFloat(b, f)
}

// appendFloat writes the shortest digits that give the number back, with an
// exponent where Python has one.
func appendFloat(b []byte, f float64) []byte {
	digits := strconv.FormatFloat(f, 'e', -1, 64)
	switch digits {
	case "NaN":
		return append(b, "nan"...)
	case "+Inf":
		return append(b, "inf"...)
	case "-Inf":
		return append(b, "-inf"...)
	}
	_, power, _ := strings.Cut(digits, "e")
	exponent, _ := strconv.Atoi(power)
	if exponent < -4 || exponent >= 16 {
		return append(b, digits...)
	}
	plain := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += ".0"
	}
	return append(b, plain...)
}

// appendQuoted appends a text as Python quotes it: in single quotes unless it
// holds some and no double ones.
func appendQuoted(b []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	b = append(b, quote)
	for _, r := range s {
		switch {
		case r == '\\' || r == rune(quote):
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == ' ' || unicode.IsPrint(r):
			b = append(b, string(r)...)
		case r < 0x100:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return append(b, quote)
}
