package config

import (
	"reflect"
	"strings"
	"testing"
)

// tagged gives every option that a field of Config is bound to.
func tagged() map[string]bool {
	options := map[string]bool{}
	config := reflect.TypeFor[Config]()
	for i := range config.NumField() {
		section := config.Field(i).Tag.Get("section")
		if section == "" {
			continue
		}
		fields := config.Field(i).Type
		for j := range fields.NumField() {
			name := fields.Field(j).Tag.Get("option")
			if !strings.Contains(name, "*") {
				options[section+"."+name] = true
				continue
			}
			for _, kind := range interfaceKinds {
				options[section+"."+strings.Replace(name, "*", kind, 1)] = true
			}
		}
	}
	return options
}

func TestOptionsThatMeanSomethingHaveAFieldAndTheReverse(t *testing.T) {
	fields := tagged()
	for _, option := range Options() {
		means := option.Status == Honoured || strings.HasPrefix(option.Note, later)
		if got := fields[option.Key()]; got != means {
			t.Errorf("%s: status %q, has a field: %v", option.Key(), option.Status, got)
		}
		delete(fields, option.Key())
	}
	for key := range fields {
		t.Errorf("%s has a field and is not in options.tsv", key)
	}
}

func TestEveryOptionIsWellFormed(t *testing.T) {
	for _, option := range Options() {
		kind, err := parseType(option.Type)
		if err != nil {
			t.Errorf("%s: %v", option.Key(), err)
			continue
		}
		if option.Note == "" {
			t.Errorf("%s says neither what it means nor why it means nothing", option.Key())
		}
		if strings.HasPrefix(option.Default, "<") || strings.Contains(option.Default, "$") {
			continue
		}
		if _, err := kind.parse(option.Default); err != nil {
			t.Errorf("%s: default %q: %v", option.Key(), option.Default, err)
		}
	}
}
