package oracle

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ferrule/openapi"
	"ferrule/openapi/conform"
)

// holdToDescription holds the answer to a request to the description of the API.
func holdToDescription(d *conform.Description, step Step, a Answer) error {
	if step.Kind != Request || a.Body == notJSON {
		return nil // no answer of the API
	}
	version := answeredAt(step, a)
	return d.Check(conform.Answer{
		Method: askedMethod(step), Path: routedPath(step, version), Version: version,
		Status: a.Status, Body: unmasked(a.Body), Empty: a.NoBody,
	})
}

// askedMethod is GET where the root document answers any method.
func askedMethod(step Step) string {
	if step.Path == "/" && step.Method != http.MethodHead {
		return http.MethodGet
	}
	return step.Method
}

// answeredAt is the microversion that a server took a request to be of.
func answeredAt(step Step, a Answer) openapi.Version {
	word := step.Version
	for _, line := range a.Header {
		if said, ok := strings.CutPrefix(line, "X-Openstack-Ironic-Api-Version: "); ok {
			word = said
		}
	}
	if strings.EqualFold(strings.TrimSpace(word), "latest") {
		return openapi.MaxVersion
	}
	n, err := strconv.Atoi(strings.TrimPrefix(word, "1."))
	if err != nil || openapi.Version(n) < openapi.MinVersion || openapi.Version(n) > openapi.MaxVersion {
		return openapi.MinVersion
	}
	return openapi.Version(n)
}

// routedPath is a path as routes are written: with /v1, without a slash at its
// end and, for old versions, without ".json".
func routedPath(step Step, v openapi.Version) string {
	path, _, _ := strings.Cut(step.Path, "?")
	path = strings.TrimSuffix(path, "/")
	if v < 91 && step.Version != "-" && step.Version != "latest" {
		path = strings.TrimSuffix(path, ".json")
	}
	switch {
	case path == "":
		return "/"
	case path != "/v1" && !strings.HasPrefix(path, "/v1/"):
		return "/v1" + path
	}
	return path
}

var maskedText = regexp.MustCompile(`<(uuid \d+|time|time without zone|conductor|token|text)>|\{(\w+)\}`)

// unmasked puts something of the same kind where a mask is, and an error back
// into the text that it came in.
func unmasked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if key == "error_message (JSON text)" {
				out["error_message"] = compactJSON(value)
				continue
			}
			out[unmaskedText(key)] = unmasked(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = unmasked(v[i])
		}
		return out
	case string:
		return unmaskedText(v)
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v
		}
		return f
	}
	return v
}

func unmaskedText(text string) string {
	return maskedText.ReplaceAllStringFunc(text, func(mask string) string {
		switch {
		case mask == "{base}":
			return "http://127.0.0.1:6385"
		case mask == "<time>":
			return "2026-01-02T03:04:05.678901+00:00"
		case mask == "<time without zone>":
			return "2026-01-02T03:04:05"
		case mask[0] == '{', strings.HasPrefix(mask, "<uuid"):
			return "01234567-89ab-4cde-8f01-23456789abcd"
		}
		return strings.Trim(mask, "<>")
	})
}

func description(t *testing.T) *conform.Description {
	t.Helper()
	d, err := conform.New(openapi.YAML)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// eachRecorded goes through what was asked of real Ironic, with its answers.
func eachRecorded(t *testing.T, do func(s Scenario, step Step, a Answer)) {
	t.Helper()
	recording := loadRecording(t)
	for _, s := range loadCases(t) {
		answers := recording[s.Key()]
		for _, step := range s.Steps {
			if step.Recorded() && len(answers) > 0 {
				do(s, step, answers[0])
				answers = answers[1:]
			}
		}
	}
}

// What real Ironic said is what is described, but for the failures and accidents
// of its own that differences.tsv lists.
func TestRecordingIsAsDescribed(t *testing.T) {
	if *update || testing.Short() {
		t.Skip("takes seconds, and an update rewrites what it compares")
	}
	d := description(t)
	allowed, err := LoadAllowed("differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	eachRecorded(t, func(s Scenario, step Step, a Answer) {
		checked++
		if len(step.Show) > 0 && a.Status < 300 {
			return // recorded in part
		}
		if err := holdToDescription(d, step, a); err != nil && !ironicsOwn(allowed, s, a) {
			t.Errorf("%s > %s: %d: %s", s.Key(), cut(a.Text, 200), a.Status, firstLine(err))
		}
	})
	if checked < 6000 && *only == "" {
		t.Errorf("only %d answers", checked)
	}
}

func firstLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	return strings.Join(lines[:min(2, len(lines))], " ")
}

// ironicsOwn reports whether an answer differs from Ferrule's by intention.
func ironicsOwn(allowed []*Allowed, s Scenario, a Answer) bool {
	return slices.ContainsFunc(allowed, func(entry *Allowed) bool {
		return entry.about.MatchString(fmt.Sprintf("%s\t%s", s.Key(), a.Text))
	})
}
