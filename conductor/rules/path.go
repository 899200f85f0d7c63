package rules

import (
	"errors"
	"fmt"
	"strings"
)

// parts takes a path apart at its slashes, or where it has none at its dots.
func parts(path any) ([]string, error) {
	text, ok := path.(string)
	if !ok {
		return nil, fmt.Errorf("argument of type '%s' is not iterable", typeName(path))
	}
	if strings.Contains(text, "/") {
		return strings.Split(strings.Trim(text, "/"), "/"), nil
	}
	return strings.Split(text, "."), nil
}

// keys are a path into plugin data: a text with dots, or a list.
func keys(path any) ([]string, error) {
	switch p := path.(type) {
	case string:
		return strings.Split(p, "."), nil
	case []any:
		list := make([]string, len(p))
		for i, key := range p {
			text, ok := key.(string)
			if !ok {
				return nil, errors.New("a path is made of texts")
			}
			list[i] = text
		}
		if len(list) == 0 {
			return nil, errors.New("list index out of range")
		}
		return list, nil
	}
	return nil, fmt.Errorf("'%s' object is not subscriptable", typeName(path))
}

// mostParts bounds what a path makes: as deep as a patch may go.
const mostParts = 200

// into follows keys into objects and makes those that are not there.
func into(value any, keys []string) (any, error) {
	if len(keys) >= mostParts {
		return nil, fmt.Errorf("a path has at most %d parts", mostParts)
	}
	for _, key := range keys {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, noSetDefault(value)
		}
		if !has(object, key) {
			object[key] = map[string]any{}
		}
		value = object[key]
	}
	return value, nil
}

func noSetDefault(v any) error {
	return fmt.Errorf("'%s' object has no attribute 'setdefault'", typeName(v))
}

// noItem is what Python says of a value that is not asked for its items by name.
func noItem(v any, purpose string) error {
	switch v.(type) {
	case []any:
		return errors.New("list indices must be integers or slices, not str")
	case string:
		if purpose == "reading" {
			return errors.New("string indices must be integers, not 'str'")
		}
	}
	if purpose == "reading" {
		return fmt.Errorf("'%s' object is not subscriptable", typeName(v))
	}
	return fmt.Errorf("'%s' object does not support item %s", typeName(v), purpose)
}

// set puts a value at the end of a path.
func set(object any, path []string, value any) error {
	last := len(path) - 1
	holder, err := into(object, path[:last])
	if err != nil {
		return err
	}
	inner, ok := holder.(map[string]any)
	if !ok {
		return noItem(holder, "assignment")
	}
	inner[path[last]] = value
	return nil
}

// extend adds a value to the list at the end of a path; with unique only where
// it is not there.
func extend(object any, path []string, value any, unique bool) error {
	last := len(path) - 1
	holder, err := into(object, path[:last])
	if err != nil {
		return err
	}
	inner, ok := holder.(map[string]any)
	if !ok {
		return noSetDefault(holder)
	}
	key := path[last]
	if !has(inner, key) {
		inner[key] = []any{}
	}
	list, ok := inner[key].([]any)
	if !ok {
		return errNoList
	}
	inner[key] = added(list, value, unique)
	return nil
}

var errNoList = errors.New("not a list")

func added(list []any, value any, unique bool) []any {
	for _, item := range list {
		if unique && equal(item, value) {
			return list
		}
	}
	return append(list, value)
}

// remove takes away what is at the end of a path.
func remove(object any, path []string) error {
	last := len(path) - 1
	for i, key := range path {
		inner, ok := object.(map[string]any)
		switch {
		case !ok && i < last:
			return noItem(object, "reading")
		case !ok:
			return noItem(object, "deletion")
		case !has(inner, key):
			return fmt.Errorf("'%s'", key)
		case i == last:
			delete(inner, key)
		}
		object = inner[key]
	}
	return nil
}
