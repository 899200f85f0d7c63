package gophercloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// suites is where the acceptance tests are in the module.
const suites = "github.com/gophercloud/gophercloud/v2/internal/acceptance/openstack/baremetal/"

// ending is how one test ended, subtests too.
type ending struct {
	result string // pass, fail or skip
	output string
}

// runSuite runs one of the suites with this environment, and gives the endings
// by the names of the tests.
func runSuite(t *testing.T, suite string, environ ...string) map[string]ending {
	t.Helper()
	run := exec.CommandContext(t.Context(), "go", "test", "-json", "-count=1", "-timeout=5m", "-tags=acceptance", suites+suite)
	run.Env = append([]string{"OS_BRANCH=master"}, environ...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "OS_") && !strings.HasPrefix(entry, "IRONIC_") {
			run.Env = append(run.Env, entry)
		}
	}
	run.WaitDelay = time.Second
	var errors bytes.Buffer
	run.Stderr = &errors
	output, failed := run.Output() // a test that fails makes it fail; so does what is not a test
	ended, err := readEvents(output)
	if err != nil || len(ended) == 0 {
		t.Fatalf("go test %s: %v, %v\n%s%s", suite, failed, err, errors.Bytes(), output)
	}
	return ended
}

// readEvents reads what test2json writes.
func readEvents(stream []byte) (map[string]ending, error) {
	ended := map[string]ending{}
	for line := range bytes.Lines(stream) {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("read %q: %w", line, err)
		}
		if event.Test == "" {
			continue
		}
		e := ended[event.Test]
		switch event.Action {
		case "output":
			e.output += event.Output
		case "pass", "fail", "skip":
			e.result = event.Action
		}
		ended[event.Test] = e
	}
	return ended, nil
}
