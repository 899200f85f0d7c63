package rights

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ferrule/openapi"
	"ferrule/openapi/conform"
)

const describedVersion openapi.Version = 104

func describe(t *testing.T) *conform.Description {
	t.Helper()
	d, err := conform.New(openapi.YAML)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// describedAnswers holds what Ferrule says to each caller to the description.
// What Ironic says while it is recorded is held by the statuses of the recording.
func describedAnswers(t *testing.T) func(method, path string, a answer) {
	t.Helper()
	if *update {
		return func(string, string, answer) {}
	}
	if describedVersion.String() != version {
		t.Fatalf("requests are of %s", version)
	}
	d := describe(t)
	return func(method, path string, a answer) {
		var body any
		if err := json.Unmarshal([]byte(a.text), &body); err != nil && a.text != "" {
			t.Errorf("%s %s: %d %s: %v", method, path, a.status, a.text, err)
		}
		path, _, _ = strings.Cut(path, "?")
		if err := d.Check(conform.Answer{
			Method: method, Path: path, Version: describedVersion, Status: a.status, Header: a.header, Body: body, Empty: a.text == "",
		}); err != nil {
			t.Errorf("%s %s: %d is not as described: %v", method, path, a.status, err)
		}
	}
}

func TestRecordedStatusesAreDescribed(t *testing.T) {
	d := describe(t)
	doc, err := d.At(describedVersion)
	if err != nil {
		t.Fatal(err)
	}
	about := map[string]request{}
	for _, r := range requests(t) {
		about[r.name] = r
	}
	files, err := filepath.Glob("recorded/*.tsv")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			cells := strings.Split(strings.TrimSpace(string(line)), "\t")
			if cells[0] == "# rule" {
				continue
			}
			r := about[cells[1]]
			path, _, _ := strings.Cut(r.path, "?")
			op := doc.Paths.Value(d.Route(path)).GetOperation(r.method)
			if op == nil {
				t.Errorf("%s: %s %s is no operation", r.name, r.method, r.path)
				continue
			}
			for _, word := range cells[2:] {
				first, _, _ := strings.Cut(word, " ")
				status, err := strconv.Atoi(first)
				if err != nil || status == http.StatusInternalServerError {
					continue // only whether the caller is let, or a failure of Ironic's
				}
				if op.Responses.Status(status) == nil {
					t.Errorf("%s: %s %s: %d is not described", r.name, r.method, r.path, status)
				}
			}
		}
	}
}
