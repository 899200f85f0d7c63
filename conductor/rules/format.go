package rules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// errMissing is a name or key that is not there (Python: KeyError).
type errMissing struct{ key string }

func (e errMissing) Error() string { return "there is no " + e.key }

func isMissing(err error) bool {
	var missing errMissing
	return errors.As(err, &missing)
}

var (
	errSingleOpen  = errors.New("Single '{' encountered in format string")
	errSingleClose = errors.New("Single '}' encountered in format string")
	errUnclosed    = errors.New("expected '}' before end of string")
	errTooMuch     = errors.New("too much is filled in")
)

// format is Python's str.format with the names of the scope: {node.name},
// {inventory[interfaces][0][name]}, {item!r:>8}.
func (s *scope) format(text string) (string, error) {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "{}")
		if at < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at])
		brace, rest := text[at], text[at+1:]
		switch {
		case rest != "" && rest[0] == brace:
			b.WriteByte(brace)
			text = rest[1:]
			continue
		case brace == '}':
			return "", errSingleClose
		case rest == "":
			return "", errSingleOpen
		}
		f, after, err := cutField(rest)
		if err != nil {
			return "", err
		}
		value, err := s.field(f)
		if err != nil {
			return "", err
		}
		if *s.filled += len(value); *s.filled > filledLimit {
			return "", errTooMuch
		}
		b.WriteString(value)
		text = after
	}
	return b.String(), nil
}

// field is what stands between braces: name!conversion:specification.
type field struct {
	name, specification string
	conversion          byte
}

// cutField takes a field off the front of a text. Inside square brackets other
// signs mean nothing.
func cutField(text string) (f field, after string, err error) {
	i := 0
	for ; i < len(text) && !strings.ContainsRune("{}:!", rune(text[i])); i++ {
		if text[i] == '[' {
			for i < len(text)-1 && text[i] != ']' {
				i++
			}
		}
	}
	if i == len(text) {
		return f, "", errUnclosed
	}
	f.name = text[:i]
	rest := text[i+1:]
	switch text[i] {
	case '{':
		return f, "", errors.New("unexpected '{' in field name")
	case '}':
		return f, rest, nil
	case '!':
		if len(rest) < 2 {
			return f, "", errUnclosed
		}
		f.conversion = rest[0]
		switch rest[1] {
		case '}':
			return f, rest[2:], nil
		case ':':
			rest = rest[2:]
		default:
			return f, "", errors.New("expected ':' after conversion specifier")
		}
	}
	depth := 1
	for i := range len(rest) {
		switch rest[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				f.specification = rest[:i]
				return f, rest[i+1:], nil
			}
		}
	}
	return f, "", errUnclosed
}

// field is the value of a field, as text.
func (s *scope) field(f field) (string, error) {
	value, err := s.lookUp(f.name)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case *metal.Node:
		return "", errors.New("a whole node is no text")
	case masked:
		value = mask(v.value)
	case time.Time:
		return showTime(v), nil
	}
	switch f.conversion {
	case 0:
	case 's':
		value = pytext.Str(value)
	case 'r':
		value = pytext.Repr(value)
	default:
		return "", fmt.Errorf("Unknown conversion specifier %q", f.conversion)
	}
	if f.specification == "" {
		return pytext.Str(value), nil
	}
	specification, err := s.format(f.specification)
	if err != nil {
		return "", err
	}
	return specified(value, specification)
}

// masked is a value of what the inspection found: seen through it, what stands
// under a sensitive key is three asterisks (Ironic: ShallowMaskDict).
type masked struct{ value any }

// sensitiveKeys are Ironic's (inspection_rules/engine: SENSITIVE_FIELDS).
var sensitiveKeys = map[string]bool{"password": true, "auth_token": true, "bmc_password": true}

const asterisks = "***"

func mask(value any) any {
	switch v := value.(type) {
	case map[string]any:
		shown := make(map[string]any, len(v))
		for key, item := range v {
			if shown[key] = mask(item); sensitiveKeys[key] {
				shown[key] = asterisks
			}
		}
		return shown
	case []any:
		shown := make([]any, len(v))
		for i, item := range v {
			shown[i] = mask(item)
		}
		return shown
	}
	return value
}

func showTime(t time.Time) string {
	if t.Nanosecond() == 0 {
		return t.UTC().Format("2006-01-02 15:04:05+00:00")
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000+00:00")
}

// lookUp follows a field's name: root, then .attribute or [key] as often as
// there are some.
func (s *scope) lookUp(name string) (any, error) {
	end := strings.IndexAny(name, ".[")
	root, rest := name, ""
	if end >= 0 {
		root, rest = name[:end], name[end:]
	}
	value, err := s.root(root)
	for err == nil && rest != "" {
		switch rest[0] {
		case '.':
			rest = rest[1:]
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			value, err = attribute(value, rest[:end])
			rest = rest[end:]
		case '[':
			key, after, closed := strings.Cut(rest[1:], "]")
			if !closed || key == "" {
				return nil, errors.New("Missing ']' in format string, or nothing before it")
			}
			value, err = index(value, key)
			rest = after
		default:
			return nil, errors.New("Only '.' or '[' may follow ']' in format field specifier")
		}
	}
	return value, err
}

func (s *scope) root(name string) (any, error) {
	switch name {
	case "node":
		return s.Node, nil
	case "inventory":
		return s.found(s.Inventory), nil
	case "plugin_data":
		return s.found(s.PluginData), nil
	case "item":
		if s.looped {
			return s.item, nil
		}
	}
	if _, err := strconv.ParseUint(name, 10, 64); err == nil || name == "" {
		return nil, errors.New("Replacement index out of range for positional args tuple")
	}
	return nil, errMissing{strconv.Quote(name)}
}

func (s *scope) found(value map[string]any) any {
	if s.masks() {
		return masked{value}
	}
	return value
}

func attribute(value any, name string) (any, error) {
	if name == "" {
		return nil, errors.New("Empty attribute in format string")
	}
	if n, ok := value.(*metal.Node); ok {
		if read, ok := nodeReads[name]; ok {
			return read(n), nil
		}
		return nil, fmt.Errorf("'Node' object has no attribute %q", name)
	}
	return nil, fmt.Errorf("a value has no attribute %q", name)
}

// index is value[key]. A key of digits is a number, as which no object of JSON
// has one.
func index(value any, key string) (any, error) {
	place, notNumber := strconv.Atoi(key)
	isNumber := notNumber == nil && key[0] != '-' && key[0] != '+'
	switch v := value.(type) {
	case *metal.Node:
		return attribute(v, key)
	case masked:
		if sensitiveKeys[key] {
			if object, ok := v.value.(map[string]any); ok && has(object, key) {
				return asterisks, nil
			}
		}
		inner, err := index(v.value, key)
		switch inner.(type) {
		case map[string]any, []any:
			return masked{inner}, err
		}
		return inner, err
	case map[string]any:
		if item, ok := v[key]; ok && !isNumber {
			return item, nil
		}
		return nil, errMissing{strconv.Quote(key)}
	case []any:
		if isNumber && place < len(v) {
			return v[place], nil
		}
		return nil, fmt.Errorf("the list has no item %s", key)
	case string:
		if runes := utf8.RuneCountInString(v); isNumber && place < runes {
			return string([]rune(v)[place]), nil
		}
	}
	return nil, fmt.Errorf("%s has no item %s", typeName(value), key)
}

func has(object map[string]any, key string) bool {
	_, ok := object[key]
	return ok
}
