package v1

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// keywords are the arguments of an operation that takes them from its JSON body
// or from its query; one given twice is a list, and so of the wrong type.
type keywords map[string]any

// keywords collects the arguments and refuses names other than the operation's.
func (c *call) keywords() (keywords, error) {
	kw := keywords{}
	for name, values := range c.query.raw {
		if err := kw.add(name, values); err != nil {
			return nil, err
		}
	}
	if err := kw.addBody(c.Request().Header.Get("Content-Type"), c.raw); err != nil {
		return nil, err
	}
	for name := range kw {
		if c.op.Arg(name).Name == "" {
			return nil, badRequest("Unexpected arguments: %s", name)
		}
	}
	return kw, nil
}

func (kw keywords) add(name string, values []string) error {
	for _, v := range values {
		if err := checkText(name, v); err != nil {
			return err
		}
		kw.put(name, v)
	}
	return nil
}

func (kw keywords) put(name string, v any) {
	if old, given := kw[name]; given {
		kw[name] = []any{old, v}
		return
	}
	kw[name] = v
}

// addBody adds the members of a JSON object or the values of a form; a body of
// another type holds no arguments.
func (kw keywords) addBody(contentType string, raw []byte) error {
	switch {
	case len(raw) == 0:
		return nil
	case contentType == "" || strings.Contains(contentType, "json"):
		v, err := decode(raw)
		if err != nil {
			return err
		}
		m, _ := v.(map[string]any)
		for name, value := range m {
			kw.put(name, value)
		}
	case strings.HasPrefix(contentType, "application/x-www-form-urlencoded"):
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			return badRequest("The form in the body is malformed.")
		}
		for name, values := range form {
			if err := kw.add(name, values); err != nil {
				return err
			}
		}
	}
	return nil
}

// required refuses a missing argument; null counts as given.
func (kw keywords) required(name string) error {
	if _, ok := kw[name]; !ok {
		return badRequest("Missing mandatory parameter: %s", name)
	}
	return nil
}

func (kw keywords) text(name string) (*string, error) {
	switch v := kw[name].(type) {
	case nil:
		return nil, nil
	case string:
		return &v, nil
	}
	return nil, badRequest("Expected string for %s: %s", name, shown(kw[name]))
}

func (kw keywords) boolean(name string) (*bool, error) {
	switch v := kw[name].(type) {
	case json.Number:
		b, ok := parseBool(v.String())
		if !ok {
			return nil, badRequest("Invalid %s: %s", name, v)
		}
		return &b, nil
	default:
		return optionalBool(name, v)
	}
}

// integer takes what Python's int() takes, of what JSON can hold.
func (kw keywords) integer(name string) (*int, error) {
	var n int
	var err error
	switch v := kw[name].(type) {
	case nil:
		return nil, nil
	case string:
		n, err = strconv.Atoi(strings.TrimSpace(v))
	case json.Number:
		var f float64
		f, err = v.Float64()
		if f > 1<<31 || f < -1<<31 {
			return nil, badRequest("The integer for %s is out of range: %s", name, v)
		}
		n = int(f)
	case bool:
		if v {
			n = 1
		}
	default:
		return nil, badRequest("Expected an integer for %s", name)
	}
	if err != nil {
		return nil, badRequest("Expected an integer for %s", name)
	}
	return &n, nil
}

func (kw keywords) list(name string) ([]any, error) {
	switch v := kw[name].(type) {
	case nil:
		return nil, nil
	case []any:
		return v, nil
	}
	return nil, badRequest("Expected a list for %s", name)
}
