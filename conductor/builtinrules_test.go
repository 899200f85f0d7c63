package conductor

import (
	"strings"
	"testing"
)

func TestBuiltInRules(t *testing.T) {
	list, err := parseRules([]byte(`
- description: one
  priority: -5
  sensitive: true
  conditions:
    - {op: "!eq", args: {values: ["{inventory[cpu][count]}", 8], force_strings: true}}
  actions:
    - {op: set-attribute, args: {path: extra/x, value: {a: [1, 2.5, null]}}, loop: [1]}
- uuid: my-own
  priority: 20000
  actions: [{op: fail, args: [why]}]
- actions: [{op: log, args: {msg: m}}]
`))
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	if r := list[0]; r.UUID != "00000000-0000-0000-0000-000000000000" || r.Priority != -5 || !r.Sensitive ||
		string(r.Actions) != `[{"args":{"path":"extra/x","value":{"a":[1,2.5,null]}},"loop":[1],"op":"set-attribute"}]` {
		t.Errorf("%+v", r)
	}
	if list[1].UUID != "my-own" || list[1].Priority != 20000 || list[2].UUID != "00000000-0000-0000-0000-000000000001" {
		t.Errorf("%+v", list)
	}
	for file, want := range map[string]string{
		"a: b":                              "a list of rules",
		"- [":                               "",
		"- actions: []":                     "does nothing",
		"- {}":                              "does nothing",
		"- actions: {op: fail}":             "list of operations",
		"- actions: [{op: polish}]":         `no operation "polish"`,
		"- actions: [{op: fail}]":           "list or an object",
		"- actions: [{op: fail, args: []}]": "lacks the arguments: msg",
		"- actions: [{op: fail, args: {}}]": "lacks the argument msg",
		"- actions: [{op: fail, args: {msg: m, x: 1}}]":                                         "no argument x",
		"- actions: [{op: api-call, args: {url: u}}]":                                           "not built in",
		"- {phase: early, actions: [{op: fail, args: [m]}]}":                                    "phase",
		"- {actions: [{op: fail, args: [m]}], conditions: [{op: ne, args: {values: []}}]}":      `no operation "ne"`,
		"- {actions: [{op: fail, args: [m]}], conditions: [{op: '!!eq', args: {values: []}}]}":  "Multiple exclamation marks",
		"- {actions: [{op: fail, args: [m]}], conditions: [{op: eq, args: [[]], multiple: x}]}": "any, all, first or last",
		"- {actions: [{op: fail, args: [{1: 2}]}]}":                                             "",
	} {
		if _, err := parseRules([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if list, err := parseRules([]byte("# nothing\n")); err != nil || len(list) != 0 {
		t.Errorf("an empty file: %v, %v", list, err)
	}
}

func FuzzBuiltInRules(f *testing.F) {
	f.Add([]byte("- actions: [{op: fail, args: [m]}]\n  conditions: [{op: eq, args: {values: []}}]\n"))
	f.Fuzz(func(_ *testing.T, raw []byte) { _, _ = parseRules(raw) })
}
