package siteagent

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"ferrule/drivers"
	"ferrule/failpoint"
	"ferrule/link"
	"ferrule/link/client"
	"ferrule/metal"
)

// childEnv makes the test binary an agent that gets one command, in the folder
// it names.
const childEnv = "SITEAGENT_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := runChild(dir); err != nil {
			slog.Error("child failed", "error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if dir := os.Getenv(bmcEnv); dir != "" {
		if err := runBMC(dir); err != nil {
			slog.Error("the BMC failed", "error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runChild delivers the folder's command to an agent and writes the result
// down. Each act of the driver leaves a byte in the file "acts".
func runChild(dir string) error {
	envelope, err := os.ReadFile(filepath.Join(dir, "command"))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	plane := newFakeLink()
	bmc := &fakeDrivers{execute: func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		acts, err := os.OpenFile(filepath.Join(dir, "acts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = acts.WriteString("x")
		}
		if err = errors.Join(err, acts.Close()); err != nil {
			return failure(metal.CodeBMCError, err.Error())
		}
		return powerOn()
	}}
	agent, err := New(Options{
		DataDir: filepath.Join(dir, "data"), Link: plane, Drivers: bmc, Listener: listener,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	plane.deliveries <- string(envelope)
	result := <-plane.results
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "result"), text, 0o600)
}

func child(dir, point string) error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir, failpoint.Env+"="+point)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL && point != "" {
			return nil
		}
		return errors.New(string(out))
	}
	if err == nil && point != "" {
		return errors.New("the child outlived " + point)
	}
	return err
}

func TestKilledAgentActsAtMostOnce(t *testing.T) {
	const unknown = string(metal.CodeOutcomeUnknown)
	for _, c := range []struct {
		point string
		acts  int
		code  string
	}{
		{"after-verify", 1, ""},
		{"secrets-fetched", 1, ""},
		{"journal-begun", 0, unknown},
		{"acted", 1, unknown},
		{"journal-result", 1, ""},
		{"before-send-result", 1, ""},
		{"result-sent", 1, ""},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			acts, result := killedOnce(t, c.point, command())
			if acts != c.acts || string(result.ErrorCode) != c.code || result.OK != (c.code == "") {
				t.Errorf("acted %d times, result %+v", acts, result)
			}
			query := command()
			query.Kind, query.Request.Operation = metal.KindQuery, metal.PowerGet
			if acts, result := killedOnce(t, c.point, query); acts < 1 || !result.OK {
				t.Errorf("query: acted %d times, result %+v", acts, result)
			}
		})
	}
}

// killedOnce has an agent killed at a point while it does cmd, delivers cmd to
// its successor, and tells how often it was done and what came of it.
func killedOnce(t *testing.T, point string, cmd metal.Command) (int, metal.CommandResult) {
	t.Helper()
	dir := t.TempDir()
	envelope, err := json.Marshal(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "command"), envelope, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := child(dir, point); err != nil {
		t.Fatal(err)
	}
	if err := child(dir, ""); err != nil {
		t.Fatal(err)
	}
	acts, err := os.ReadFile(filepath.Join(dir, "acts"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "result"))
	if err != nil {
		t.Fatal(err)
	}
	var result metal.CommandResult
	if err := json.Unmarshal(text, &result); err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(acts), "x"), result
}

// removedLink is that of an agent that its control plane has removed.
type removedLink struct{ *fakeLink }

func (*removedLink) Run(context.Context, link.Hello, func(context.Context, client.Delivery) error) error {
	return errors.New("agent has been removed")
}
