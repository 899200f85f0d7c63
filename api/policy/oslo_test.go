package policy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ferrule/compat-tests/env"
)

var update = flag.Bool("update", false, "write defaults.tsv anew from the installed Ironic")

// oslo runs testdata/oslo.py in real Ironic's Python.
func oslo(t *testing.T, what string, questions any) []byte {
	t.Helper()
	input, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), env.Venv(t, env.Ironic), "-W", "ignore", filepath.Join("testdata", "oslo.py"), what)
	command.Stdin = bytes.NewReader(input)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	answer, err := command.Output()
	if err != nil {
		t.Fatalf("oslo.py %s: %v\n%s", what, err, complaint.Bytes())
	}
	return answer
}

func TestDefaultsAreIronics(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Python")
	}
	ironic := oslo(t, "defaults", nil)
	if *update {
		if err := os.WriteFile("defaults.tsv", ironic, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(ironic), defaultsTSV); diff != "" {
		t.Errorf("run with -update (-Ironic +defaults.tsv):\n%s", diff)
	}
}

// question is a rule among others, held against a caller and a target.
type question struct {
	Rules       map[string]any `json:"rules"` // texts or lists
	Fallback    string         `json:"fallback"`
	Ask         string         `json:"ask"`
	Credentials map[string]any `json:"credentials"`
	Target      map[string]any `json:"target"`
}

type verdict struct {
	Read    string `json:"read"`
	Allowed bool   `json:"allowed"`
	Broken  string `json:"broken"`
}

func (q *question) ask(t *testing.T) verdict {
	t.Helper()
	set := &ruleset{rules: map[string]check{}, fallback: q.Fallback}
	for name, rule := range q.Rules {
		set.rules[name] = parseAny(t, rule)
	}
	v := verdict{}
	if c, ok := set.rules[q.Ask]; ok {
		v.Read = c.String()
	}
	rule, ok := set.find(q.Ask)
	if !ok {
		return v
	}
	allowed, err := rule.allows(&evaluation{rules: set, credentials: q.Credentials, target: q.Target})
	v.Allowed = allowed
	if err != nil {
		v.Broken = err.Error()
	}
	return v
}

// parseAny reads a rule as a file would give it.
func parseAny(t *testing.T, rule any) check {
	t.Helper()
	if s, ok := rule.(string); ok {
		c, _ := parseText(s) // what is wrong with it shows in what it allows
		return c
	}
	var items [][]string
	for _, item := range rule.([]any) {
		switch item := item.(type) {
		case string:
			items = append(items, []string{item})
		case []string:
			items = append(items, item)
		default:
			t.Fatalf("a list holds %T", item)
		}
	}
	c, _ := parseList(items)
	return c
}

func TestRulesMeanWhatTheyMeanToOslo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Python")
	}
	const count = 2500
	questions := make([]question, count)
	generator := rapid.Custom(drawQuestion)
	for i := range questions {
		questions[i] = generator.Example(i)
	}
	var theirs []verdict
	if err := json.Unmarshal(oslo(t, "rules", questions), &theirs); err != nil {
		t.Fatal(err)
	}
	allowed, broken := 0, 0
	for i := range questions {
		q, want := &questions[i], theirs[i]
		got := q.ask(t)
		if got.Allowed {
			allowed++
		}
		if got.Broken != "" {
			broken++
		}
		if got.Read != want.Read || got.Allowed != want.Allowed || (got.Broken == "") != (want.Broken == "") {
			text, err := json.MarshalIndent(q, "", "  ")
			t.Errorf("%s %v\nferrule: %+v\noslo:    %+v", text, err, got, want)
		}
	}
	// A judge that only ever hears one answer judges nothing.
	t.Logf("%d questions: %d allowed, %d broken", count, allowed, broken)
	if allowed < count/10 || allowed > count*9/10 || broken > count/2 {
		t.Errorf("the questions are one-sided: of %d, %d were allowed and %d broken", count, allowed, broken)
	}
}

func drawQuestion(t *rapid.T) question {
	q := question{Rules: map[string]any{}, Ask: "a", Credentials: map[string]any{}, Target: map[string]any{}}
	for _, name := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 3).Draw(t, "list?") == 0 {
			q.Rules[name] = drawList(t)
		} else {
			q.Rules[name] = drawRule(t, 3)
		}
	}
	if rapid.Bool().Draw(t, "default?") {
		q.Fallback = rapid.SampledFrom([]string{"c", "default"}).Draw(t, "fallback")
	}
	if rapid.IntRange(0, 9).Draw(t, "unknown?") == 0 {
		q.Ask = "unknown"
	}
	q.Credentials["roles"] = rapid.SliceOfN(rapid.SampledFrom([]string{"admin", "Member", "reader", "service"}), 0, 3).Draw(t, "roles")
	for _, key := range []string{"project_id", "user_id", "system_scope", "is_admin", "limit", "user-id"} {
		if rapid.Bool().Draw(t, "has "+key) {
			q.Credentials[key] = drawValue(t)
		}
	}
	q.Credentials["user"] = map[string]any{"id": drawValue(t), "groups": []any{drawValue(t), drawValue(t)}}
	for _, key := range []string{"project_id", "node.owner", "node.lessee", "x", "a(b)c", "role"} {
		if rapid.IntRange(0, 3).Draw(t, "has "+key) > 0 {
			q.Target[key] = drawValue(t)
		}
	}
	return q
}

func drawValue(t *rapid.T) any {
	return rapid.OneOf(
		rapid.SampledFrom([]any{"p1", "p2", "admin", "all", "None", "True", "7", "1.5", "it's", ""}),
		rapid.SampledFrom([]any{nil, true, false, int64(7), int64(-3), 1.5, 1e16, 2.5, 1e-5, "p1"}),
		rapid.SampledFrom([]any{[]any{"p1", int64(2), nil}, []any{}, map[string]any{"k": "it's"}}),
	).Draw(t, "value")
}

func drawList(t *rapid.T) []any {
	list := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "items") {
		if rapid.Bool().Draw(t, "bare") {
			list = append(list, drawCheck(t))
			continue
		}
		list = append(list, rapid.SliceOfN(rapid.Custom(drawCheck), 0, 2).Draw(t, "all of"))
	}
	return list
}

var (
	kinds = []string{
		"role", "rule", "project_id", "user_id", "system_scope", "is_admin", "limit", "user.id", "user.groups", "roles", "user-id", "missing",
		"'p1'", `"p1"`, "'Member'", "True", "False", "None", "7", "-3", "1.5", "0x07", "1e16", "user.id.more", "", "is", "'p1", "1x",
	}
	matches = []string{
		"admin", "ADMIN", "member", "b", "c", "unknown", "p1", "p2", "all", "True", "None", "7", "1.5", "",
		"%(project_id)s", "%(node.owner)s", "%(node.lessee)s", "%(x)s", "%(x)r", "%(a(b)c)s", "%(role)s", "pre-%(x)s-%(project_id)s", "100%%", "%(x)s%(nokey)s",
		"%(x", "%(x)", "50%",
	}
)

func drawCheck(t *rapid.T) string {
	switch rapid.IntRange(0, 19).Draw(t, "shape") {
	case 0:
		return rapid.SampledFrom([]string{"@", "!", "nocolon", "a:b:c", "'quoted'", `"q"`}).Draw(t, "odd")
	case 1, 2, 3, 4:
		return rapid.SampledFrom(kinds).Draw(t, "kind") + ":" + rapid.SampledFrom(matches).Draw(t, "match")
	case 5, 6, 7:
		return "rule:" + rapid.SampledFrom([]string{"b", "c", "b", "unknown"}).Draw(t, "rule")
	case 8, 9, 10, 11:
		return "role:" + rapid.SampledFrom([]string{"admin", "member", "reader", "%(role)s"}).Draw(t, "role")
	}
	return rapid.SampledFrom(kinds[2:22]).Draw(t, "kind") + ":" + rapid.SampledFrom(matches[6:20]).Draw(t, "match")
}

// drawRule is an expression, mostly a good one.
func drawRule(t *rapid.T, depth int) string {
	shape := rapid.IntRange(0, 11).Draw(t, "expression")
	if depth == 0 {
		shape = min(shape, 4)
	}
	operator := func() string {
		return rapid.SampledFrom([]string{" and ", " or ", " AND ", " Or ", "\tand\n"}).Draw(t, "operator")
	}
	switch {
	case shape < 4:
		return drawCheck(t)
	case shape == 4:
		return rapid.SampledFrom([]string{"", " ", "@", "!", "(", ")", "and", "not", "a:b c:d", "(a:b", "a:b)", "not", "x:y and", "x:y or or x:y", "x:y not x:y"}).Draw(t, "broken")
	case shape == 5:
		return rapid.SampledFrom([]string{"not ", "not not ", "NOT "}).Draw(t, "not") + drawRule(t, depth-1)
	case shape < 8:
		return fmt.Sprintf("(%s%s%s)", drawRule(t, depth-1), operator(), drawRule(t, depth-1))
	case shape == 8:
		return "( " + drawRule(t, depth-1) + " )"
	}
	parts := []string{drawRule(t, depth-1), drawRule(t, depth-1), drawCheck(t)}
	return parts[0] + operator() + parts[1] + operator() + strings.TrimSpace(parts[2])
}

func TestFilesMeanWhatTheyMeanToOslo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Python")
	}
	files := []string{
		"", "---\n", "# nothing\n", "a: role:admin\n", `{"a": "role:admin or rule:b", "b": "@"}`, "a: ''\n", "a:\n", "a: ~\n", "a: []\n", "a: [[]]\n",
		"a: [role:x, [role:y, 'k:%(v)s']]\n", "a: x\na: role:y\n", "a: rule:b and\n  rule:c\n", "a: |\n  role:x\n", "a: &x role:b\nc: *x\n",
		"- a\n", "a\n", "a: 5\n", "a: '!'\n", "1: role:x\n", "a: role:x\n  b: c\n", "a: [1]\n", "a: ['']\n", "a: \"role:'x'\"\n",
		"'baremetal:node:get': 'role:reader'\n", "a: !!str role:x\n", "a: role:\u00e9\n", "\ufeffa: role:x\n", "a: @\n", "%YAML 1.1\n---\na: role:x\n",
	}
	var theirs []struct {
		Rules   map[string]string `json:"rules"`
		Refused string            `json:"refused"`
	}
	if err := json.Unmarshal(oslo(t, "files", files), &theirs); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		rules, err := parseFile([]byte(file))
		got := map[string]string{}
		for _, r := range rules {
			got[r.name] = r.check.String()
		}
		if (err != nil) != (theirs[i].Refused != "") {
			t.Errorf("%q: ferrule says %v, oslo %q", file, err, theirs[i].Refused)
		} else if diff := cmp.Diff(theirs[i].Rules, got); err == nil && diff != "" {
			t.Errorf("%q (-oslo +ferrule):\n%s", file, diff)
		}
	}
}
