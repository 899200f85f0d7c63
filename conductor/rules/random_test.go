package rules

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Rules drawn at random come to what they come to in real Ironic.
func TestRulesMeanWhatTheyMeanToIronic(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Python")
	}
	const count = 1500
	world := readGolden(t, "testdata/actions.txtar").world
	questions := make([]question, count)
	generator := rapid.Custom(drawRules)
	for i := range questions {
		questions[i] = world
		questions[i].Rules = generator.Example(i)
	}
	failed, changed := 0, 0
	for i, want := range ironic(t, questions) {
		got := ferrule(t, questions[i])
		if diff := cmp.Diff(want.changes(&questions[i]), got.changes(&questions[i])); diff != "" {
			t.Errorf("%s (-Ironic +Ferrule):\n%s", encode(questions[i].Rules), diff)
		}
		if want.Error != "" {
			failed++
		} else if len(want.changes(&questions[i])) > 0 {
			changed++
		}
	}
	// A judge that only ever hears one answer judges nothing.
	t.Logf("%d sets of rules: %d failed, %d changed something", count, failed, changed)
	if failed > count/2 || changed < count/5 {
		t.Errorf("the questions are one-sided: of %d, %d failed and %d changed something", count, failed, changed)
	}
}

// drawText is a text with or without something to be filled in.
func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"{node.name}", "{node.extra[old]}", "{node.description}", "{node.maintenance}", "{node.properties[cpus]}", "{node.no_such}",
		"{inventory[cpu][count]}", "{inventory[cpu]}", "{inventory[password]}", "{inventory[no_such]}", "{inventory[bmc_address]}", "{inventory}",
		"{plugin_data[list]}", "{plugin_data[list][0]}", "{plugin_data[list][9]}", "{plugin_data[deep][er][x]}",
		"{item}", "{item[a]}", "{item[0]}", "{}", "{", "a}}b", "{{x}}", "{node.name!r:>8}", "", "x86_64", "8", "True", "no", "old", "192.0.2.7", "***",
	}).Draw(t, "text")
}

func drawAny(t *rapid.T) any {
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any { return drawText(t) }),
		rapid.Custom(func(t *rapid.T) any { return drawText(t) }),
		rapid.SampledFrom([]any{nil, true, false, json.Number("8"), json.Number("0"), json.Number("-3"), json.Number("1.5"), json.Number("8.0")}),
		rapid.Custom(func(t *rapid.T) any { return []any{drawText(t), json.Number("8")} }),
		rapid.Custom(func(t *rapid.T) any { return map[string]any{drawText(t): drawText(t)} }),
		rapid.SampledFrom([]any{[]any{}, map[string]any{}}),
	).Draw(t, "value")
}

// looped gives an operation a loop, or none.
func looped(t *rapid.T, o map[string]any) map[string]any {
	switch rapid.IntRange(0, 5).Draw(t, "loop") {
	case 0:
		o["loop"] = rapid.SliceOfN(rapid.Custom(drawAny), 0, 3).Draw(t, "items")
	case 1:
		o["loop"] = map[string]any{"a": drawAny(t)}
	}
	return o
}

func drawCondition(t *rapid.T) map[string]any {
	op := rapid.SampledFrom([]string{"eq", "lt", "gt", "is-empty", "is-none", "is-true", "is-false", "in-net", "matches", "contains", "one-of"}).Draw(t, "op")
	args := map[string]any{}
	switch op {
	case "eq", "lt", "gt":
		args["values"] = rapid.SliceOfN(rapid.Custom(drawAny), 0, 3).Draw(t, "values")
		if rapid.IntRange(0, 2).Draw(t, "strings") == 0 {
			args["force_strings"] = rapid.Bool().Draw(t, "force")
		}
	case "in-net":
		args["address"] = rapid.SampledFrom([]string{"{inventory[bmc_address]}", "10.1.2.3", "2001:db8::1", "{item}"}).Draw(t, "address")
		args["subnet"] = rapid.SampledFrom([]string{"192.0.2.0/24", "10.0.0.0/255.0.0.0", "2001:db8::/32", "0.0.0.0/0"}).Draw(t, "subnet")
	case "matches", "contains":
		args["value"] = drawAny(t)
		args["regex"] = rapid.SampledFrom([]string{`\d+`, `[a-z]+`, `^x86`, `.*`, `(?i)TRUE`, `\w{3}`, `(?!8).`, `'a'`, `$`, `\bcpu\b`}).Draw(t, "regex")
	case "one-of":
		args["value"] = drawAny(t)
		args["values"] = rapid.SliceOfN(rapid.Custom(drawAny), 0, 4).Draw(t, "values")
	default:
		args["value"] = drawAny(t)
	}
	o := looped(t, map[string]any{"op": rapid.SampledFrom([]string{"", "", "!"}).Draw(t, "not") + op, "args": args})
	if _, ok := o["loop"]; ok {
		o["multiple"] = rapid.SampledFrom([]string{"any", "all", "first", "last"}).Draw(t, "multiple")
	}
	return o
}

func drawAction(t *rapid.T) map[string]any {
	path := rapid.SampledFrom([]string{"extra/old", "extra.list", "extra/list", "extra/a/b", "extra.c", "extra/{item}", "properties/x", "properties.y", "description", "extra/list/x"}).Draw(t, "path")
	data := rapid.SampledFrom([]string{"list", "list", "text", "a.b.c", "deep.er.x", "new", "empty"}).Draw(t, "data")
	port := rapid.SampledFrom([]string{"extra/old", "extra/a/b", "physical_network", "local_link_connection/port_id"}).Draw(t, "port path")
	const portID = "5e1b5f4f-7c3b-4b7b-9d5f-0c1e2a3b4c5d"
	op := rapid.SampledFrom([]string{
		"set-attribute", "set-attribute", "set-attribute", "extend-attribute", "del-attribute", "set-capability", "unset-capability", "add-trait", "remove-trait",
		"set-plugin-data", "set-plugin-data", "extend-plugin-data", "set-port-attribute", "set-port-attribute", "extend-port-attribute", "del-port-attribute",
		"log", "log", "fail",
	}).Draw(t, "op")
	args := map[string]any{}
	switch op {
	case "set-attribute":
		args["path"], args["value"] = path, drawAny(t)
	case "extend-attribute":
		args["path"], args["value"], args["unique"] = path, drawAny(t), rapid.Bool().Draw(t, "unique")
	case "del-attribute":
		args["path"] = rapid.SampledFrom([]string{"extra/old", "extra/list", "extra/none", "properties/cpus"}).Draw(t, "path")
	case "set-capability":
		args["name"], args["value"] = rapid.SampledFrom([]string{"a", "b", "{item}"}).Draw(t, "name"), drawText(t)
	case "unset-capability":
		args["name"] = rapid.SampledFrom([]string{"a", "b", "{item}"}).Draw(t, "name")
	case "add-trait", "remove-trait":
		args["name"] = rapid.SampledFrom([]string{"CUSTOM_OLD", "CUSTOM_NEW", "CUSTOM_{item}"}).Draw(t, "name")
	case "set-plugin-data":
		args["path"], args["value"] = data, drawText(t)
	case "extend-plugin-data": // in Ironic a list is never equal to one of the data
		args["path"], args["value"], args["unique"] = data, drawText(t), rapid.Bool().Draw(t, "unique")
	case "set-port-attribute":
		args["port_id"], args["path"], args["value"] = portID, port, drawAny(t)
	case "extend-port-attribute":
		args["port_id"], args["path"], args["value"], args["unique"] = portID, "extra/a", drawAny(t), rapid.Bool().Draw(t, "unique")
	case "del-port-attribute":
		args["port_id"], args["path"] = portID, rapid.SampledFrom([]string{"extra/old", "extra/none"}).Draw(t, "path")
	default:
		args["msg"] = drawText(t)
	}
	return looped(t, map[string]any{"op": op, "args": args})
}

func drawRules(t *rapid.T) []map[string]any {
	rules := []map[string]any{}
	for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
		rules = append(rules, map[string]any{
			"uuid": "rule-" + string(rune('a'+i)), "priority": json.Number(rapid.SampledFrom([]string{"0", "5", "9"}).Draw(t, "priority")),
			"sensitive":  false, // of a sensitive rule errors say less here
			"conditions": rapid.SliceOfN(rapid.Custom(drawCondition), 0, 1).Draw(t, "conditions"),
			"actions":    rapid.SliceOfN(rapid.Custom(drawAction), 1, 3).Draw(t, "actions"),
		})
	}
	return rules
}
