package oracle

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCases(t *testing.T) {
	text := `# a file
== {state}: one for state in active,clean-wait
use 1.46
before node n in {state} {"driver": "x"}
@1.1,1.2 +Accept=a/b PATCH /v1/nodes/{n} [{"op": "add", "value": "a #b"}]   #4/1 sm/{state}/x -> uuid as id
await n available
`
	all, err := ParseCases("f", text)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[1].Key() != "f/clean-wait: one" {
		t.Fatalf("scenarios: %v", all)
	}
	var got []string
	for _, s := range all[1].Steps {
		got = append(got, s.Text)
	}
	want := []string{
		`node n in clean-wait {"driver": "x"}`,
		`@1.1 +Accept=a/b PATCH /v1/nodes/{n} [{"op": "add", "value": "a #b"}]`,
		`node n in clean-wait {"driver": "x"}`,
		`@1.2 +Accept=a/b PATCH /v1/nodes/{n} [{"op": "add", "value": "a #b"}]`,
		`await n available`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	request := all[1].Steps[1]
	if diff := cmp.Diff([]string{"4/1", "sm/clean-wait/x"}, request.IDs); diff != "" {
		t.Error(diff)
	}
	if request.Capture != "uuid" || request.Var != "id" || request.Body != `[{"op": "add", "value": "a #b"}]` {
		t.Errorf("request: %+v", request)
	}
}

func TestParseCasesRefuses(t *testing.T) {
	for _, line := range []string{
		"GET nodes", "get /v1", "node", "node n in nowhere", "set n uuid=1", "set n", "await n", "await n nowhere",
		"+Accept GET /v1", "port p", "let x", "after nonsense\nGET /v1",
	} {
		if _, err := ParseCases("f", "== s\n"+line); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
}

func TestRecordingRoundTrip(t *testing.T) {
	scenario := Scenario{File: "f", Name: "s"}
	fault := map[string]any{"error_message (JSON text)": map[string]any{
		"debuginfo": nil, "faultcode": "Client", "faultstring": "<text>",
	}}
	answers := []Answer{
		{Text: "@1.1 GET /", Status: 200, Body: map[string]any{"a": []any{"x", nil, true}}},
		{Text: "@1.2 GET /", Status: 200, Body: map[string]any{"a": []any{"x", nil, true}}},
		{Text: "@1.1 DELETE /", Status: 204, NoBody: true},
		{Text: "@1.1 PUT /", Status: 406, Header: []string{"Allow: GET"}, Body: fault},
		{Text: "@1.1 POST /", Status: 400, Body: map[string]any{"error_message (JSON text)": map[string]any{
			"debuginfo": nil, "faultcode": "Client", "faultstring": `it's "<text>": said`,
		}}},
		{Text: "@1.1 HEAD /", Status: 406, Header: []string{"Allow: GET"}, Body: notJSON},
	}
	dir := t.TempDir()
	if err := (Recording{scenario.Key(): answers}).Write(dir, []Scenario{scenario}); err != nil {
		t.Fatal(err)
	}
	back, err := LoadRecording(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(answers, back[scenario.Key()]); diff != "" {
		t.Error(diff)
	}
}

func TestMaskNamesWhatDiffers(t *testing.T) {
	m := &masker{base: "http://127.0.0.1:1", hosts: []string{"h"}, literal: "99999999-2222-4333-8444-555555555555", names: map[string]string{}}
	m.name("11111111-2222-4333-8444-555555555555", "n")
	m.next()
	got := m.body(map[string]any{
		"href":       "http://127.0.0.1:1/v1/nodes/11111111-2222-4333-8444-555555555555",
		"instance":   "99999999-2222-4333-8444-555555555555",
		"other":      "22222222-2222-4333-8444-555555555555",
		"created_at": "2026-01-02T03:04:05.123456+00:00",
		"conductor":  "h",
		"last_error": "words",
		"hosts":      []any{"b", "a"},
		"reason":     "mine",
	})
	want := map[string]any{
		"href": "{base}/v1/nodes/{n}", "instance": "99999999-2222-4333-8444-555555555555", "other": "<uuid 1>",
		"created_at": "<time>", "conductor": "<conductor>", "last_error": "<text>", "hosts": []any{"a", "b"}, "reason": "mine",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCompareIsStrict(t *testing.T) {
	parse := func(text string) Answer {
		body, err := decodeJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return Answer{Status: http.StatusOK, Body: body}
	}
	for _, pair := range [][2]string{
		{`{"a": 1}`, `{"a": "1"}`}, {`{"a": 1}`, `{"a": 1.0}`}, {`{"a": null}`, `{}`}, {`{}`, `{"a": null}`},
		{`[1, 2]`, `[2, 1]`}, {`[]`, `{}`}, {`{"a": [1]}`, `{"a": [1, 2]}`}, {`{"a": false}`, `{"a": null}`},
		{`"` + strings.Repeat("x", 200) + `y"`, `"` + strings.Repeat("x", 200) + `z"`},
		{`["` + strings.Repeat("x", 200) + `"]`, `["` + strings.Repeat("x", 200) + `", 1]`},
	} {
		if len(compare(parse(pair[0]), parse(pair[1]))) == 0 {
			t.Errorf("%s and %s: no difference", pair[0], pair[1])
		}
	}
	if found := compare(parse(`{"a": [1, {"b": 2}]}`), parse(`{"a": [1, {"b": 2}]}`)); len(found) > 0 {
		t.Errorf("equal answers differ: %v", found)
	}
}

func TestAllowedDifferences(t *testing.T) {
	allowed := []*Allowed{
		{pattern: glob("f/*\t@* GET /v1?x\tstatus")},
		{pattern: glob("*\t*\tbody.gone")},
	}
	found := []Difference{
		{Scenario: "f/s", Text: "@1.1 GET /v1?x", Place: "status"},
		{Scenario: "f/s", Text: "@1.1 GET /v1?x", Place: "body"},
	}
	unwanted := Unwanted(found, allowed)
	if len(unwanted) != 1 || unwanted[0].Place != "body" {
		t.Errorf("unwanted: %v", unwanted)
	}
	if unused := Unused(allowed); len(unused) != 1 || unused[0] != allowed[1] {
		t.Errorf("unused: %v", unused)
	}
}

func TestAnAnswerIsShownInPart(t *testing.T) {
	body, err := decodeJSON([]byte(`{"nodes": [{"uuid": "u", "name": null, "more": 1}, {"uuid": "v"}], "next": "n"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"and keys": 1, "nodes": [{"and keys": 1, "name": null, "uuid": "u"}, {"and keys": 0, "uuid": "v"}]}`
	if got := compactJSON(project(body, []string{"nodes/uuid", "nodes/name"})); got != want {
		t.Errorf("got %s", got)
	}
	if got := project(body, []string{"ports/uuid", "nosuch"}); compactJSON(got) != compactJSON(body) {
		t.Errorf("another kind of answer: %s", compactJSON(got))
	}
}
