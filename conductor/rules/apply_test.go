package rules

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
	"go.uber.org/goleak"

	"ferrule/hardware"
	"ferrule/metal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(clocked{m}) }

// clocked ends the clock that matches are timed by, which would stop by itself
// a second later.
type clocked struct{ *testing.M }

func (c clocked) Run() int {
	defer regexp2.StopTimeoutClock()
	return c.M.Run()
}

// ruleOf is a rule with these actions, in JSON.
func ruleOf(sensitive bool, actions string) []metal.InspectionRule {
	return []metal.InspectionRule{{UUID: "rule", Sensitive: sensitive, Actions: metal.JSON(actions), Conditions: "[]"}}
}

func apply(t *testing.T, rules []metal.InspectionRule) (*metal.Node, []Note, error) {
	t.Helper()
	catalogue, err := hardware.NewCatalogue(hardware.Enabled{}, hardware.ValidationSettings{})
	if err != nil {
		t.Fatal(err)
	}
	n := &metal.Node{UUID: "node", Driver: "fake-hardware"}
	s := &Subject{
		Node: n, Inventory: map[string]any{"password": "of the inventory"}, PluginData: map[string]any{},
		Ports: []*metal.Port{{UUID: "port", Address: "52:54:00:00:00:01"}},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // as the conductor limits them
	defer cancel()
	notes, err := Apply(ctx, s, rules, Settings{
		MaskSecrets: "always", Catalogue: catalogue, Taken: func(_, value string) bool { return strings.HasPrefix(value, "taken") },
	})
	return n, notes, err
}

// What may be a credential is in no error and no line of the log.
func TestWhatFailsTellsNoCredential(t *testing.T) {
	for _, c := range []struct {
		sensitive bool
		actions   string
	}{
		{false, `[{"op": "set-attribute", "args": {"path": "driver_info/redfish_password/x/y", "value": "canary"}},
			{"op": "set-attribute", "args": {"path": "driver_info/redfish_password", "value": "canary"}},
			{"op": "set-attribute", "args": {"path": "driver_info/redfish_password/deeper", "value": "canary"}}]`},
		{false, `[{"op": "set-attribute", "args": {"path": "driver_info/snmp_auth_key", "value": "canary"}},
			{"op": "extend-attribute", "args": {"path": "driver_info/snmp_auth_key", "value": "canary"}}]`},
		{true, `[{"op": "set-attribute", "args": {"path": "no_such/x", "value": "canary"}}]`},
		{true, `[{"op": "set-attribute", "args": {"path": "extra/x", "value": "{canary}"}}, {"op": "fail", "args": {"msg": "end"}}]`},
	} {
		_, notes, err := apply(t, ruleOf(c.sensitive, c.actions))
		text := ""
		for _, n := range notes {
			text += n.Text
		}
		if err == nil || strings.Contains(err.Error()+text, "canary") {
			t.Errorf("%s: %v, %s", c.actions, err, text)
		}
	}
}

func TestWhatARuleMayNotDo(t *testing.T) {
	for actions, want := range map[string]string{
		`[{"op": "api-call", "args": {"url": "http://127.0.0.1:1/"}}]`:                                             "calls no address",
		`[{"op": "set-attribute", "args": {"path": "name", "value": "taken"}}]`:                                    "A node with name taken already exists",
		`[{"op": "set-attribute", "args": {"path": "name", "value": "a b"}}]`:                                      "no name for a node",
		`[{"op": "set-attribute", "args": {"path": "driver", "value": "redfish"}}]`:                                "no attribute that an inspection rule may change",
		`[{"op": "set-attribute", "args": {"path": "boot_interface", "value": "fake"}}]`:                           "no attribute that an inspection rule may change",
		`[{"op": "set-attribute", "args": {"path": "driver_internal_info/agent_url", "value": "x"}}]`:              "no attribute that an inspection rule may change",
		`[{"op": "set-attribute", "args": {"path": "raid_interface", "value": "no-such"}}]`:                        "no-such",
		`[{"op": "set-port-attribute", "args": {"port_id": "port", "path": "name", "value": "taken"}}]`:            "A port with name taken already exists",
		`[{"op": "set-port-attribute", "args": {"port_id": "port", "path": "uuid", "value": "x"}}]`:                "no attribute that an inspection rule may change",
		`[{"op": "log", "args": {"msg": "x", "level": "shout"}}]`:                                                  "Invalid log level: shout",
		`[{"op": "set-attribute", "args": {"path": "description", "value": "` + strings.Repeat("x", 5000) + `"}}]`: "longer than 4096 characters",
		`[{"op": "del-attribute", "args": {"path": "maintenance"}}]`:                                               "always has a value",
		`[{"op": "add-trait", "args": {"name": "` + strings.Repeat("X", 256) + `"}}]`:                              "longer than 255",
		`[{"op": "add-trait", "args": {"name": "T{item}"}, "loop": [` + sixty() + `]}]`:                            "a node can have 50 traits",
	} {
		if _, _, err := apply(t, ruleOf(false, actions)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %v", actions, err)
		}
	}
}

func sixty() string {
	list := make([]int, 60)
	for i := range list {
		list[i] = i
	}
	text, _ := json.Marshal(list)
	return strings.Trim(string(text), "[]")
}

func TestARuleChangesWhatItMay(t *testing.T) {
	n, notes, err := apply(t, ruleOf(false, `[
		{"op": "set-attribute", "args": {"path": "name", "value": "n-7"}},
		{"op": "set-attribute", "args": {"path": "raid_interface", "value": "no-raid"}},
		{"op": "set-attribute", "args": {"path": "driver_info/redfish_password", "value": "secret"}},
		{"op": "log", "args": {"msg": "{inventory[password]}", "level": "ERROR"}}]`))
	if err != nil || *n.Name != "n-7" || n.RAIDInterface != "no-raid" || n.DriverInfo.Text("redfish_password") != "secret" {
		t.Errorf("%v: %+v", err, n)
	}
	if last := notes[len(notes)-1]; last.Level != "error" || !strings.HasSuffix(last.Text, "***") {
		t.Errorf("logged %+v", last)
	}
}

// What a rule makes of a little stays little enough to be kept and read.
func TestWhatGrowsWithoutEndIsCutShort(t *testing.T) {
	if testing.Short() {
		t.Skip("fills megabytes")
	}
	deep := strings.Repeat("/x", 9000)
	for actions, want := range map[string]string{
		`[{"op": "set-plugin-data", "args": {"path": "a", "value": "xx"}},
		  {"op": "set-plugin-data", "args": {"path": "a", "value": "{plugin_data[a]}{plugin_data[a]}"}, "loop": [` + sixty() + `]}]`: "longer than 16 MiB",
		`[{"op": "set-attribute", "args": {"path": "extra/a", "value": "xx"}},
		  {"op": "set-attribute", "args": {"path": "extra/a", "value": ["{node.extra}", {"{node.extra}": "{node.extra}"}]}, "loop": [` + sixty() + `]}]`: "longer than 16 MiB",
		`[{"op": "set-attribute", "args": {"path": "extra/a", "value": "` + strings.Repeat("x", 1<<19) + `"}},
		  {"op": "log", "args": {"msg": "` + strings.Repeat("{node.extra[a]}", 1<<14) + `"}}]`: "longer than 16 MiB",
		`[{"op": "set-attribute", "args": {"path": "extra` + deep + `", "value": 1}}]`:                                   "at most 200 parts",
		`[{"op": "extend-attribute", "args": {"path": "extra` + deep + `", "value": 1}}]`:                                "at most 200 parts",
		`[{"op": "set-plugin-data", "args": {"path": "` + strings.ReplaceAll(deep[1:], "/", ".") + `", "value": 1}}]`:    "at most 200 parts",
		`[{"op": "extend-plugin-data", "args": {"path": "` + strings.ReplaceAll(deep[1:], "/", ".") + `", "value": 1}}]`: "at most 200 parts",
		`[{"op": "set-port-attribute", "args": {"port_id": "port", "path": "extra` + deep + `", "value": 1}}]`:           "at most 200 parts",
	} {
		if _, _, err := apply(t, ruleOf(false, actions)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.120s: %.300v", actions, err)
		}
	}
}

// A pattern that would go on for years ends its inspection, and soon.
func TestAPatternWithoutEndIsCutShort(t *testing.T) {
	rules := ruleOf(false, "[]")
	rules[0].Conditions = metal.JSON(`[{"op": "matches", "args": {"value": "` + strings.Repeat("a", 60) + `!", "regex": "(a|aa)+$"}}]`)
	if _, _, err := apply(t, rules); err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Error(err)
	}
}

// Nor do many patterns that each end in time; on a slow machine the first of
// them may not.
func TestManySlowPatternsAreCutShort(t *testing.T) {
	rules := ruleOf(false, "[]")
	text := metal.ToJSON(strings.Repeat("a", 18) + "!")
	rules[0].Conditions = metal.JSON(`[{"op": "matches", "args": {"value": "{item}", "regex": "(a|aa)+$"}, "loop": [` +
		strings.TrimSuffix(strings.Repeat(string(text)+",", 100_000), ",") + `]}]`)
	if _, _, err := apply(t, rules); err == nil || !strings.Contains(err.Error(), "took longer") {
		t.Error(err)
	}
}

// No text and no path makes a panic, and no rule goes on for ever.
func FuzzTexts(f *testing.F) {
	for _, text := range []string{"{node.name!r:>8}", "{inventory[a][0]}", "{{}}", "{:{}}", "{node.name:{node.name}}", "{a[", "a.b/c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, op := range []string{"set-attribute", "extend-attribute", "del-attribute", "set-plugin-data", "unset-plugin-data"} {
			args := map[string]any{"path": "extra/x", "value": text}
			_, _, _ = apply(t, ruleOf(false, string(metal.ToJSON([]any{map[string]any{"op": op, "args": args, "loop": []any{text}}}))))
			_, _, _ = apply(t, ruleOf(false, string(metal.ToJSON([]any{map[string]any{"op": op, "args": map[string]any{"path": text, "value": 1}}}))))
		}
	})
}
