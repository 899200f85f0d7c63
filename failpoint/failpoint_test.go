package failpoint

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("FAILPOINT_CHILD") != "" {
		Hit("first")
		Hit("second")
		Hit("second")
		os.Exit(7)
	}
	os.Exit(m.Run())
}

func TestHitKillsAtTheNamedPassage(t *testing.T) {
	for spec, wantDeath := range map[string]bool{
		"":          false,
		"third":     false,
		"first":     true,
		"second:2":  true,
		"second:3":  false,
		"second:x":  false,
		"second:-1": false,
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"="+spec)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatalf("%q: child ended with %v", spec, err)
		}
		status := exit.Sys().(syscall.WaitStatus)
		killed := status.Signaled() && status.Signal() == syscall.SIGKILL
		if killed != wantDeath {
			t.Errorf("%q: killed %v, want %v (%s)", spec, killed, wantDeath, status.Signal())
		}
		if killed && !strings.Contains(string(out), "failpoint hit") {
			t.Errorf("%q: the point is not named in %q", spec, out)
		}
		if !killed && status.ExitStatus() != 7 {
			t.Errorf("%q: exit %d", spec, status.ExitStatus())
		}
	}
}

func TestAPointThatFreezesStopsUntilItIsWoken(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"=freeze@second:2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v, %v", status, err)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("woken, it ended with %v", err)
	}
}

func TestATraceNamesEachPointOnce(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FAILPOINT_CHILD=1", Env+"=trace")
	out, _ := cmd.CombinedOutput() // it ends with its own code
	if got := string(out); got != "failpoint passed: first\nfailpoint passed: second\n" {
		t.Errorf("it printed %q", got)
	}
}
