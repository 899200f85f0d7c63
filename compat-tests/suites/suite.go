package suites

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/warm"
)

//go:embed suite.py
var runner string

// suite is what a client ships: a name and the Python package of its tests.
type suite struct{ name, tests string }

var suites = []suite{
	{"openstacksdk", "openstack.tests.functional.baremetal"},
	{"python-ironicclient", "ironicclient.tests.functional"},
}

// What one test and one run may take: real Ironic is slow on a busy machine.
const (
	testLimit = 2 * time.Minute
	runLimit  = 20 * time.Minute
)

// outcome is how a test ended: "pass", "fail" or "skip", and what it said.
type outcome struct{ Test, Outcome, Output string }

// run is a process that runs tests.
type run struct {
	suite    suite
	command  *exec.Cmd
	out, log bytes.Buffer
}

// start begins to run these tests of the suite, or all, as the user on the
// service.
func (s suite) start(t *testing.T, url string, who user, tests ...string) *run {
	t.Helper()
	python := env.Venv(t, env.ClientSuites)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.py": runner, "osc.py": warm.Openstack, "clouds.yaml": who.clouds(url), "test.conf": who.testConf(url),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	t.Cleanup(cancel)
	r := &run{suite: s, command: exec.CommandContext(ctx, python, "-W", "ignore", filepath.Join(dir, "suite.py"), s.tests)}
	r.command.Dir, r.command.Stdin = dir, strings.NewReader(strings.Join(tests, "\n"))
	r.command.Stdout, r.command.Stderr = &r.out, &r.log
	r.command.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, "LC_ALL=C.UTF-8", "PYTHONWARNINGS=ignore",
		"OS_CLIENT_CONFIG_FILE=" + filepath.Join(dir, "clouds.yaml"), "IRONICCLIENT_TEST_CONFIG=" + filepath.Join(dir, "test.conf"),
		"OS_LOG_CAPTURE=1", fmt.Sprintf("OS_TEST_TIMEOUT=%.0f", testLimit.Seconds()),
	}, who.environ(url)...)
	// It goes with the test process, however that ends; a Ctrl-C is the test's.
	r.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	r.command.Cancel = func() error { return syscall.Kill(-r.command.Process.Pid, syscall.SIGKILL) }
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// wait gives how the tests ended. A run that did not come to its end fails the
// test.
func (r *run) wait(t *testing.T) []outcome {
	t.Helper()
	err := r.command.Wait()
	ended := read(t, r.out.Bytes())
	if err != nil {
		t.Errorf("%s: %v after %d tests; the end of what it said:\n%s", r.suite.name, err, len(ended), tail(r.log.String()))
	}
	return ended
}

func read(t *testing.T, out []byte) []outcome {
	t.Helper()
	var all []outcome
	for line := range bytes.Lines(out) {
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			t.Errorf("the runner says %q: %v", line, err)
			continue
		}
		all = append(all, o)
	}
	return all
}

func tail(text string) string { return text[max(0, len(text)-6000):] }
