package rules

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"ferrule/compat-tests/env"
	"ferrule/metal"
)

var update = flag.Bool("update", false, "write Ironic's answers in testdata anew")

// question is a world and the rules to be held against it.
type question struct {
	Node       map[string]any   `json:"node"`
	Ports      []map[string]any `json:"ports"`
	Traits     []string         `json:"traits"`
	Inventory  map[string]any   `json:"inventory"`
	PluginData map[string]any   `json:"plugin_data"`
	Rules      []map[string]any `json:"rules"`
	Mask       string           `json:"mask"`
}

// verdict is what came of it.
type verdict struct {
	Error      string           `json:"error"`
	Node       map[string]any   `json:"node"`
	Ports      []map[string]any `json:"ports"`
	Traits     []string         `json:"traits"`
	PluginData map[string]any   `json:"plugin_data"`
}

// decode reads JSON as rules get it, with numbers as they were written.
func decode[T any](t testing.TB, text []byte) T {
	t.Helper()
	var v T
	if err := metal.JSON(text).Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func encode(v any) []byte { return []byte(metal.ToJSON(v)) }

// ironic asks the engine of real Ironic.
func ironic(t *testing.T, questions []question) []verdict {
	t.Helper()
	command := exec.CommandContext(t.Context(), env.Venv(t, env.Ironic), "-W", "ignore", filepath.Join("testdata", "engine.py"))
	command.Stdin = bytes.NewReader(encode(questions))
	var complaint bytes.Buffer
	command.Stderr = &complaint
	answer, err := command.Output()
	if err != nil {
		t.Fatalf("engine.py: %v\n%s", err, complaint.Bytes())
	}
	return decode[[]verdict](t, answer)
}

// ferrule asks this package.
func ferrule(t testing.TB, q question) verdict {
	t.Helper()
	q = decode[question](t, encode(q)) // what rules change is theirs
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	started := created.Add(678 * time.Millisecond)
	node := &metal.Node{
		ID: 7, UUID: fmt.Sprint(q.Node["uuid"]), Driver: "fake-hardware", Traits: q.Traits,
		ProvisionState: metal.Inspecting, CreatedAt: created, InspectionStartedAt: &started,
	}
	r := &run{Subject: &Subject{Node: node}, Settings: Settings{Taken: func(string, string) bool { return false }}}
	for name, value := range q.Node {
		if at, ok := nodeObjects[name]; ok {
			*at(node) = metal.ToJSON(value)
		} else if name != "uuid" {
			if err := r.setNode(name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := &Subject{Node: node, Inventory: q.Inventory, PluginData: q.PluginData}
	for _, given := range q.Ports {
		p := &metal.Port{UUID: fmt.Sprint(given["uuid"])}
		for name, value := range given {
			if err := r.setPort(p, name, value); err != nil && name != "uuid" {
				t.Fatal(err)
			}
		}
		s.Ports = append(s.Ports, p)
	}
	var list []metal.InspectionRule
	for _, given := range q.Rules {
		priority, _ := given["priority"].(json.Number).Int64()
		sensitive, _ := given["sensitive"].(bool)
		list = append(list, metal.InspectionRule{
			UUID: fmt.Sprint(given["uuid"]), Priority: priority, Sensitive: sensitive,
			Actions: metal.ToJSON(given["actions"]), Conditions: metal.ToJSON(given["conditions"]),
		})
	}
	v := verdict{Node: map[string]any{}, Traits: []string{}}
	_, err := Apply(t.Context(), s, list, Settings{MaskSecrets: q.Mask, Taken: func(_, value string) bool { return value == "taken" }})
	if err != nil {
		v.Error = err.Error()
	}
	for name := range q.Node {
		v.Node[name] = nodeReads[name](node)
	}
	for i, given := range q.Ports {
		shown := map[string]any{}
		for name := range given {
			shown[name] = readPort(s.Ports[i], name)
		}
		v.Ports = append(v.Ports, shown)
	}
	v.Traits = append(v.Traits, node.Traits...)
	v.PluginData = s.PluginData
	return decode[verdict](t, encode(v))
}

func readPort(p *metal.Port, name string) any {
	switch {
	case portTexts[name] != nil:
		return textOrNone(*portTexts[name](p))
	case portFlags[name] != nil:
		return *portFlags[name](p)
	case portObjects[name] != nil:
		return portObjects[name](p).Object()
	}
	return map[string]any{"uuid": p.UUID, "address": p.Address}[name]
}

// changes is what a verdict says beside what was there before.
func (v *verdict) changes(q *question) map[string]any {
	shown := map[string]any{}
	if v.Error != "" {
		shown["error"] = v.Error
	}
	for name, value := range v.Node {
		if !cmp.Equal(value, q.Node[name]) {
			shown["node."+name] = value
		}
	}
	for i, p := range v.Ports {
		for name, value := range p {
			if !cmp.Equal(value, q.Ports[i][name]) {
				shown[fmt.Sprint("port", i, ".", name)] = value
			}
		}
	}
	if !slices.Equal(v.Traits, q.Traits) {
		shown["traits"] = v.Traits
	}
	if !cmp.Equal(v.PluginData, q.PluginData) {
		shown["plugin_data"] = v.PluginData
	}
	return shown
}

// golden is one file of cases: a world, and lines that begin with what they are:
// "ask: " a list of rules, "ironic: " what real Ironic makes of them, and where
// that is another thing on purpose "why: " and "ferrule: ".
type golden struct {
	file  string
	world question
	cases []goldenCase
}

type goldenCase struct {
	ask, ironic, why, ferrule string
}

func readGolden(t *testing.T, file string) *golden {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{file: file, world: decode[question](t, archive.Files[0].Data)}
	for line := range strings.Lines(string(archive.Files[1].Data)) {
		what, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if what == "ask" {
			g.cases = append(g.cases, goldenCase{})
		}
		if what == "" {
			continue
		}
		c := &g.cases[len(g.cases)-1]
		*map[string]*string{"ask": &c.ask, "ironic": &c.ironic, "why": &c.why, "ferrule": &c.ferrule}[what] = text
	}
	return g
}

func (g *golden) write(t *testing.T) {
	t.Helper()
	archive, err := txtar.ParseFile(g.file)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, c := range g.cases {
		fmt.Fprintf(&b, "ask: %s\nironic: %s\n", c.ask, c.ironic)
		if c.ferrule != "" {
			fmt.Fprintf(&b, "why: %s\nferrule: %s\n", c.why, c.ferrule)
		}
		b.WriteByte('\n')
	}
	archive.Files[1].Data = b.Bytes()
	if err := os.WriteFile(g.file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// question is a case in full. A case is a list of rules, or of actions that one
// rule has, or the condition of one that leaves a mark.
func (g *golden) question(t *testing.T, c goldenCase) question {
	t.Helper()
	q := g.world
	rules := decode[[]map[string]any](t, []byte(c.ask))
	for i, rule := range rules {
		uuid := fmt.Sprintf("rule-%d", i)
		full := map[string]any{"uuid": uuid, "priority": json.Number("0"), "conditions": []any{}, "sensitive": false}
		maps.Copy(full, rule)
		if _, ok := rule["op"]; ok {
			full["conditions"] = []any{rule}
			full["actions"] = []any{map[string]any{"op": "set-attribute", "args": map[string]any{"path": "extra/hit", "value": uuid}}}
		}
		if mask, ok := rule["mask"]; ok {
			q.Mask, _ = mask.(string)
		}
		q.Rules = append(q.Rules, full)
	}
	return q
}

func TestRules(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := readGolden(t, file)
			for _, c := range g.cases {
				want := c.ironic
				if c.ferrule != "" {
					want = c.ferrule
				}
				q := g.question(t, c)
				v := ferrule(t, q)
				if diff := cmp.Diff(want, string(encode(v.changes(&q)))); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.ask, diff)
				}
			}
		})
	}
}

// What the files say of Ironic is what it does.
func TestAnswersAreIronics(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Python")
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		g := readGolden(t, file)
		var questions []question
		for _, c := range g.cases {
			questions = append(questions, g.question(t, c))
		}
		for i, v := range ironic(t, questions) {
			got := string(encode(v.changes(&questions[i])))
			switch {
			case *update:
				g.cases[i].ironic = got
			case got != g.cases[i].ironic:
				t.Errorf("%s: run with -update (-recorded +Ironic)\n%s", g.cases[i].ask, cmp.Diff(g.cases[i].ironic, got))
			}
		}
		if *update {
			g.write(t)
		}
	}
}
