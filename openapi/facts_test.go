package openapi_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ferrule/openapi"
)

// facts reads a table of what real Ironic 39.0.0 has, which was taken from its
// source and not from the description.
func facts(t *testing.T, file string, columns int) [][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		row := strings.Split(line, "\t")
		if len(row) != columns {
			t.Fatalf("%s: %q has %d columns", file, line, len(row))
		}
		rows = append(rows, row)
	}
	return rows
}

func resources() map[string]*openapi.Resource {
	all := map[string]*openapi.Resource{}
	for _, r := range openapi.Resources {
		all[r.Name] = r
	}
	return all
}

// The registry has the fields that Ironic has, each from the same version on,
// of the same type and in the same views, and no other.
func TestRegistryHasIronicsFields(t *testing.T) {
	t.Parallel()
	registry, seen := resources(), map[string]bool{}
	for _, row := range facts(t, "testdata/fields.tsv", 6) {
		resource, name := row[0], row[1]
		seen[resource+"."+name] = true
		f, _, ok := registry[resource].Field(name)
		if !ok {
			t.Errorf("%s.%s is not described", resource, name)
			continue
		}
		kind := string(f.Kind)
		if f.Nullable {
			kind += "|null"
		}
		got := strings.Join([]string{resource, name, kind, f.Min.String(), yes(f.List), yes(f.Detail)}, "\t")
		if want := strings.Join(row, "\t"); got != want {
			t.Errorf("described as %s\nin Ironic     %s", got, want)
		}
	}
	for _, r := range openapi.Resources {
		for _, f := range r.Fields {
			if r != openapi.V1Fields && !seen[r.Name+"."+f.Name] {
				t.Errorf("%s.%s is described, and Ironic has no such field", r.Name, f.Name)
			}
		}
	}
}

func yes(flag bool) string {
	if flag {
		return "yes"
	}
	return "no"
}

var braces = regexp.MustCompile(`\{\w+\}`)

func routeKey(method, path string) string { return method + " " + braces.ReplaceAllString(path, "{}") }

// The description has the routes that Ironic has, each from the same version on
// and with the same status, and no other but Ferrule's own.
func TestDescriptionHasIronicsRoutes(t *testing.T) {
	t.Parallel()
	described := map[string]openapi.Operation{}
	for _, op := range openapi.Operations {
		if !op.Own {
			described[routeKey(op.Method, op.Path)] = op
		}
	}
	for _, row := range facts(t, "testdata/routes.tsv", 4) {
		key := routeKey(row[0], row[1])
		op, ok := described[key]
		if !ok {
			t.Errorf("%s %s is not described", row[0], row[1])
			continue
		}
		delete(described, key)
		if op.Min.String() != row[2] {
			t.Errorf("%s is described from %s on; in Ironic %s", key, op.Min, row[2])
		}
		if strconv.Itoa(op.Success) != row[3] {
			t.Errorf("%s is described to give %d; in Ironic %s", key, op.Success, row[3])
		}
	}
	for key := range described {
		t.Errorf("%s is described, and Ironic has no such route", key)
	}
}
