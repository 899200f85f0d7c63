package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"
)

// filler sets the fields of a Config from what was given and the defaults.
type filler struct {
	values   map[string][]given
	mistakes []error
}

// valueError says what is wrong with the value of one option.
type valueError struct {
	where, section, option string
	cause                  error
}

func (e *valueError) Error() string {
	return fmt.Sprintf("%s: [%s] %s: %v", e.where, e.section, e.option, e.cause)
}

func (e *valueError) Unwrap() error { return e.cause }

func fill(c *Config, values map[string][]given) []error {
	f := &filler{values: values}
	config := reflect.ValueOf(c).Elem()
	for i := range config.NumField() {
		if section := config.Type().Field(i).Tag.Get("section"); section != "" {
			f.section(section, config.Field(i))
		}
	}
	return f.mistakes
}

func (f *filler) section(section string, fields reflect.Value) {
	for i := range fields.NumField() {
		tag := fields.Type().Field(i).Tag
		name := tag.Get("option")
		if strings.Contains(name, "*") {
			f.byInterface(section, name, fields.Field(i))
			continue
		}
		value, err := f.value(section, name, tag.Get("unit"), fields.Field(i).Type())
		if err != nil {
			f.mistakes = append(f.mistakes, err)
			continue
		}
		if value.IsValid() {
			fields.Field(i).Set(value)
		}
	}
}

// byInterface fills a map with an entry for each interface kind that is set.
func (f *filler) byInterface(section, pattern string, field reflect.Value) {
	field.Set(reflect.MakeMap(field.Type()))
	for _, kind := range interfaceKinds {
		name := strings.Replace(pattern, "*", kind, 1)
		value, err := f.value(section, name, "", field.Type().Elem())
		if err != nil {
			f.mistakes = append(f.mistakes, err)
			continue
		}
		if value.IsValid() {
			field.SetMapIndex(reflect.ValueOf(kind), value)
		}
	}
}

// value is the option as its field's type, invalid where it has no value.
func (f *filler) value(section, name, unit string, want reflect.Type) (reflect.Value, error) {
	option, ok := theCatalogue().find(section, name)
	if !ok {
		return reflect.Value{}, fmt.Errorf("the catalogue lacks [%s] %s", section, name)
	}
	kind, err := parseType(option.Type)
	if err != nil {
		return reflect.Value{}, fmt.Errorf("[%s] %s: %w", section, name, err)
	}
	texts, where := f.texts(option, kind.multi)
	var whole reflect.Value
	for _, text := range texts {
		expanded, err := f.expand(option, text, 0)
		if err != nil {
			return reflect.Value{}, &valueError{where, section, name, err}
		}
		parsed, err := kind.parse(expanded)
		if err != nil {
			return reflect.Value{}, &valueError{where, section, name, err}
		}
		if parsed == nil {
			continue
		}
		part, err := convert(parsed, unit, kind.multi, want)
		if err != nil {
			return reflect.Value{}, fmt.Errorf("[%s] %s: %w", section, name, err)
		}
		whole = join(whole, part)
	}
	return whole, nil
}

// texts are the raw values of an option, one unless it may be given many
// times, and where the last of them stands.
func (f *filler) texts(option Option, multi bool) (texts []string, where string) {
	found := f.values[option.Key()]
	if len(found) == 0 {
		if strings.HasPrefix(option.Default, "<") {
			text, known := machineDefault(option.Default)
			if !known {
				return nil, "default"
			}
			return []string{text}, "default"
		}
		return []string{option.Default}, "default"
	}
	last := found[len(found)-1]
	if !multi {
		return []string{last.value}, last.where
	}
	// One source's lines add up; a stronger source replaces them.
	for _, g := range found {
		if sourceOf(g.where) == sourceOf(last.where) {
			texts = append(texts, g.value)
		}
	}
	return texts, last.where
}

// sourceOf tells files, environment and overrides apart.
func sourceOf(where string) string {
	source, _, _ := strings.Cut(where, " ")
	if source == "environment" || source == "--set" {
		return source
	}
	return "file"
}

// convert makes a parsed value into the field's type.
func convert(parsed any, unit string, multi bool, want reflect.Type) (reflect.Value, error) {
	if want.Kind() == reflect.Pointer {
		inner, err := convert(parsed, unit, multi, want.Elem())
		if err != nil {
			return inner, err
		}
		pointer := reflect.New(want.Elem())
		pointer.Elem().Set(inner)
		return pointer, nil
	}
	if want == reflect.TypeFor[time.Duration]() {
		scale := time.Second
		if unit != "" {
			var err error
			if scale, err = time.ParseDuration(unit); err != nil {
				return reflect.Value{}, fmt.Errorf("unit of the field: %w", err)
			}
		}
		switch n := parsed.(type) {
		case int:
			return reflect.ValueOf(time.Duration(n) * scale), nil
		case float64:
			return reflect.ValueOf(time.Duration(n * float64(scale))), nil
		}
	}
	if text, ok := parsed.(string); ok && multi && want.Kind() == reflect.Slice {
		return reflect.ValueOf([]string{text}), nil
	}
	value := reflect.ValueOf(parsed)
	if value.Type() != want {
		return reflect.Value{}, fmt.Errorf("a %s cannot be a %s", value.Type(), want)
	}
	return value, nil
}

// join adds the values of an option that is given many times.
func join(whole, part reflect.Value) reflect.Value {
	if !whole.IsValid() {
		return part
	}
	switch part.Kind() {
	case reflect.Slice:
		return reflect.AppendSlice(whole, part)
	case reflect.Map:
		sum := whole.Interface().(map[string]string)
		maps.Copy(sum, part.Interface().(map[string]string))
		return whole
	}
	return part
}
