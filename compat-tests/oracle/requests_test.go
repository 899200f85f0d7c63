package oracle

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ferrule/openapi/conform"
)

// accidents are what is taken without a word, and means nothing that a client
// could want.
var accidents = []string{
	`/maintenance ["x"]`, // no arguments at all
	`{"op": "log", "args": ["m", "debug"], "extra": 1}`, // a key that is dropped
	`"timeout": 1.5`, `"timeout": true`, // what Python makes an integer of
	`"conductor_group": ""`, `"mode": null, "properties": {}`, // newer, and empty
	`"enabled": null`, // a console that is neither on nor off
}

func accident(step Step) bool {
	return slices.ContainsFunc(accidents, func(text string) bool { return strings.Contains(step.Path+" "+step.Body, text) })
}

// What real Ironic took is what the description says that clients may send.
func TestTakenRequestsAreDescribed(t *testing.T) {
	if *update || testing.Short() {
		t.Skip("takes seconds, and an update rewrites what it compares")
	}
	d := description(t)
	allowed, err := LoadAllowed("differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	eachRecorded(t, func(s Scenario, step Step, a Answer) {
		if step.Kind != Request || a.Status >= 300 || step.Method == http.MethodOptions || accident(step) || ironicsOwn(allowed, s, a) {
			return
		}
		version := answeredAt(step, a)
		_, query, _ := strings.Cut(step.Path, "?")
		r := conform.Request{Method: askedMethod(step), Path: routedPath(step, version), Version: version}
		r.Query, _ = url.ParseQuery(query)
		if err := json.Unmarshal([]byte(unmaskedText(step.Body)), &r.Body); err != nil && step.Body != "" {
			return
		}
		if err := d.CheckRequest(r); err != nil {
			t.Errorf("%s > %s: %s", s.Key(), cut(a.Text, 200), firstLine(err))
		}
	})
}
