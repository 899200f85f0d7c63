package env

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Environment is a set of Python packages, by the name of its list in
// requirements.
type Environment string

// The environments.
const (
	Ironic            Environment = "ironic"
	Clients           Environment = "clients"
	ClientSuites      Environment = "client-suites" // with the tests that clients ship
	SushyTools        Environment = "sushy-tools"
	IronicPythonAgent Environment = "ironic-python-agent"
	Keystone          Environment = "keystone"
	Schemathesis      Environment = "schemathesis"
)

//go:embed requirements/*.txt
var requirements embed.FS

// installLimit bounds the making of one virtual environment.
const installLimit = 10 * time.Minute

// Venv gives the Python of an environment. The first test that asks makes it,
// in a cache keyed by what is in it; others, of other processes too, wait.
func Venv(t testing.TB, e Environment) string {
	t.Helper()
	python, err := Python(t.Context(), e)
	if err != nil {
		t.Fatalf("Python environment %s: %v", e, err)
	}
	return python
}

// Tool gives a program of an environment, such as openstack.
func Tool(t testing.TB, e Environment, name string) string {
	t.Helper()
	return filepath.Join(filepath.Dir(Venv(t, e)), name)
}

// CacheDir is where environments are kept between runs.
func CacheDir() (string, error) {
	if dir := os.Getenv("FERRULE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("set FERRULE_CACHE or HOME: %w", err)
	}
	return filepath.Join(home, ".cache", "ferrule"), nil
}

// Python is what Venv gives, for code that has no test at hand.
func Python(ctx context.Context, e Environment) (python string, err error) {
	list, err := requirements.ReadFile("requirements/" + string(e) + ".txt")
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, "python3", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("python3 --version: %w (compat-tests/env/setup.sh installs it)", err)
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(version, list...))
	dir := filepath.Join(cache, "venv", string(e)+"-"+hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	python, made := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "made")
	if _, err := os.Stat(made); err == nil {
		return python, nil
	}
	if err := makeVenv(ctx, dir, list); err != nil {
		return "", err
	}
	return python, os.WriteFile(made, nil, 0o644)
}

// lock takes a file lock that ends with the process at the latest.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { f.Close() }, nil
}

// makeVenv fills dir anew; a virtual environment cannot be moved, so it is made
// where it stays.
func makeVenv(ctx context.Context, dir string, list []byte) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := run(ctx, "python3", "-m", "venv", dir); err != nil {
		return err
	}
	pins := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(pins, list, 0o644); err != nil {
		return err
	}
	install := []string{"-m", "pip", "install", "--quiet", "--no-input", "--retries", "5", "--requirement", pins}
	return run(ctx, filepath.Join(dir, "bin", "python"), install...)
}

// run runs a program to its end; its error shows the end of what it printed.
func run(ctx context.Context, name string, args ...string) error {
	command := exec.CommandContext(ctx, name, args...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, tail(output.Bytes(), 2000))
	}
	return nil
}

func tail(text []byte, most int) []byte {
	if len(text) > most {
		return text[len(text)-most:]
	}
	return text
}
