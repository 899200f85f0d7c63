package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/lab"
)

func TestADemoTellsWhyItDoesNotStart(t *testing.T) {
	for said, want := range map[string]string{
		"level=INFO msg=x\nferrule: listen for the API: address already in use\n": "ferrule up did not start: listen for the API: address already in use\n",
		"":   "said nothing",
		"\n": "said nothing",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "up.log"), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := notStarted(dir, "up"); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Join(dir, "up.log")) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// Who pastes the lines needs the password's place, not an ellipsis.
func TestTheClosingLinesSayWhereEverythingIs(t *testing.T) {
	p := &demoProcesses{
		endpoint: "http://127.0.0.1:1", servers: []lab.Identity{{Name: "lab-1", SystemID: "1"}}, users: map[string]string{"lab-1": "admin"},
		ready: lab.Ready{Control: "http://127.0.0.1:2", CredentialsFile: "/d/lab/credentials.json"},
	}
	var out strings.Builder
	p.explain(&out, "/d")
	for _, want := range []string{
		"OS_ENDPOINT=http://127.0.0.1:1\n", "'/d/lab/credentials.json' lab-1", "redfish_username=admin", "--wait\n",
		"/d/up.log", "/d/lab.log", "http://127.0.0.1:2",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the lines lack %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "…") {
		t.Errorf("a line has a gap:\n%s", out.String())
	}
}
