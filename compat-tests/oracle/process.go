package oracle

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed ironic.conf
var commonConfig string

const startTime = 90 * time.Second

// Process is a server that this package started.
type Process struct {
	*Server
	cmd  *exec.Cmd
	done chan struct{}
}

// Stop ends the process and waits for it.
func (p *Process) Stop() error {
	err := p.Server.Close()
	if killErr := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err == nil {
		err = killErr // Ironic forks: the whole group has to go
	}
	<-p.done
	return err
}

// StartIronic starts a real Ironic, API and conductor in one process, in dir.
func StartIronic(ctx context.Context, dir string) (*Process, error) {
	python, err := ironicPython(ctx)
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "ironic.conf")
	if err := os.WriteFile(conf, []byte(ironicConfig(dir, port)), 0o600); err != nil {
		return nil, fmt.Errorf("write ironic.conf: %w", err)
	}
	schema := ironicCommand(ctx, python, "ironic.command.dbsync", conf, "create_schema")
	if out, err := schema.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make Ironic's schema: %w: %s", err, lastLines(out))
	}
	cmd := ironicCommand(ctx, python, "ironic.command.singleprocess", conf)
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	if err := p.waitFor(ctx, base+"/v1/drivers", "fake-hardware"); err != nil {
		return nil, fmt.Errorf("%w; see %s", err, filepath.Join(dir, "ironic.log"))
	}
	p.Server, err = Connect(ctx, base, filepath.Join(dir, "ironic.sqlite"))
	return p, err
}

// ironicPython gives the interpreter of an environment that has Ironic, and
// makes the environment when there is none.
func ironicPython(ctx context.Context) (string, error) {
	cache := os.Getenv("FERRULE_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the cache folder: %w", err)
		}
		cache = filepath.Join(home, ".cache", "ferrule")
	}
	venv := filepath.Join(cache, "venv-ironic-39.0.0")
	python := filepath.Join(venv, "bin", "python")
	if exec.CommandContext(ctx, python, "-c", "import ironic, sushy").Run() == nil {
		return python, nil
	}
	if out, err := exec.CommandContext(ctx, "python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		return "", fmt.Errorf("make a Python environment for Ironic: %w: %s", err, lastLines(out))
	}
	pip := exec.CommandContext(ctx, python, "-m", "pip", "install", "-q", "ironic==39.0.0", "sushy")
	if out, err := pip.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install Ironic: %w: %s", err, lastLines(out))
	}
	return python, nil
}

func ironicConfig(dir string, port int) string {
	return commonConfig + fmt.Sprintf(`
[DEFAULT]
host = oracle-conductor
rpc_transport = none
state_path = %[1]s
log_file = %[1]s/ironic.log
use_stderr = false
default_log_levels = amqp=WARN,sqlalchemy=WARN,requests=WARN,urllib3=WARN,ironic.drivers.modules.fake=WARN
[database]
connection = sqlite:///%[1]s/ironic.sqlite
[api]
host_ip = 127.0.0.1
port = %[2]d
[conductor]
heartbeat_timeout = 36000
[service_catalog]
endpoint_override = http://127.0.0.1:%[2]d
[deploy]
http_url = http://127.0.0.1:9
http_root = %[1]s
[pxe]
images_path = %[1]s
tftp_root = %[1]s
tftp_master_path = %[1]s
`, dir, port)
}

func ironicCommand(ctx context.Context, python, module, conf string, args ...string) *exec.Cmd {
	code := fmt.Sprintf("import sys; from %s import main; sys.exit(main())", module)
	argv := append([]string{"-W", "ignore", "-c", code, "--config-file", conf}, args...)
	return exec.CommandContext(ctx, python, argv...)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func start(cmd *exec.Cmd) (*Process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // killed in the end; what counts is that it is gone
	}()
	return p, nil
}

// waitFor polls until the answer of url contains text.
func (p *Process) waitFor(ctx context.Context, url, text string) error {
	deadline := time.After(startTime)
	ticker := time.NewTicker(2 * poll)
	defer ticker.Stop()
	for {
		if answers(ctx, url, text) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready", p.cmd.Path)
		case <-deadline:
			return fmt.Errorf("%s was not ready in %s", p.cmd.Path, startTime)
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, url, text string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	raw, err := readBody(res)
	return err == nil && bytes.Contains(raw, []byte(text))
}

func lastLines(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}
