package driver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
)

// MaxOptionsBytes bounds driverOptionsJson.
const MaxOptionsBytes = 1024

// Option is one entry of a driver's option schema.
type Option struct {
	Name    string
	Help    string
	Values  []string // the allowed values; nil for any text
	Boolean bool     // true and false are values, too
}

// Options are a request's driver options: text, or a boolean's "true" and
// "false".
type Options map[string]string

// ParseOptions reads driverOptionsJson against a schema. It must be a
// canonical JSON object (keys sorted, no blanks) of at most 1 KiB, so that
// equal options are equal bytes; an option that the schema does not name is
// refused rather than ignored.
func ParseOptions(raw json.RawMessage, schema []Option) (Options, error) {
	if len(raw) == 0 {
		return Options{}, nil
	}
	if len(raw) > MaxOptionsBytes {
		return nil, Errorf(metal.CodeInvalidConfig, "driver options have %d bytes, at most %d are taken", len(raw), MaxOptionsBytes)
	}
	keys, values, err := members(raw)
	if err != nil {
		return nil, Errorf(metal.CodeInvalidConfig, "driver options are not a canonical JSON object: %w", err)
	}
	out := Options{}
	for i, key := range keys {
		opt := slices.IndexFunc(schema, func(o Option) bool { return o.Name == key })
		if opt < 0 {
			return nil, Errorf(metal.CodeInvalidConfig, "driver option %q is not known; known are: %s", key, names(schema))
		}
		if out[key], err = schema[opt].value(values[i]); err != nil {
			return nil, Errorf(metal.CodeInvalidConfig, "driver option %q: %w", key, err)
		}
	}
	return out, nil
}

func (o Option) value(v any) (string, error) {
	if b, ok := v.(bool); ok && o.Boolean {
		return fmt.Sprint(b), nil
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("is not text")
	}
	if o.Values != nil && !slices.Contains(o.Values, s) {
		return "", fmt.Errorf("%q is none of %s", s, strings.Join(o.Values, ", "))
	}
	return s, nil
}

// members reads the object's members in the order given and checks that it is
// the canonical one.
func members(raw []byte) (keys []string, values []any, err error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(compact.Bytes(), raw) {
		return nil, nil, fmt.Errorf("it has blanks between its members")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, fmt.Errorf("it is no object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var v any
		if err := dec.Decode(&v); err != nil {
			return nil, nil, err
		}
		name, _ := key.(string)
		if n := len(keys); n > 0 && name <= keys[n-1] {
			return nil, nil, fmt.Errorf("its keys are not sorted at %q", name)
		}
		keys, values = append(keys, name), append(values, v)
	}
	return keys, values, nil
}

func names(schema []Option) string {
	if len(schema) == 0 {
		return "none"
	}
	list := make([]string, len(schema))
	for i, o := range schema {
		list[i] = o.Name
	}
	return strings.Join(list, ", ")
}
