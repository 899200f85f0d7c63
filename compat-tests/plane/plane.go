package plane

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Options say how to run ferrule. The zero value is "ferrule up" with nothing
// set.
type Options struct {
	Config string   // an ironic.conf; "": none
	Args   []string // further flags, such as "--auth", "http_basic" or "--set", "section.option=value"
	Env    []string // KEY=VALUE, beside those that every program has
}

// startLimit is far more than a start takes on a machine that does other work.
const startLimit = time.Minute

// stopLimit is what a ferrule that was asked to stop has left.
const stopLimit = 20 * time.Second

// Plane is a running "ferrule up".
type Plane struct {
	URL     string // without a trailing slash
	DataDir string // database, keys, and the embedded agent's files
	Log     string // what it printed; one file over all starts

	t       testing.TB
	binary  string
	args    []string
	env     []string
	command *exec.Cmd
	ended   chan struct{} // closed when the process is gone
}

// Start runs ferrule on an empty data folder, with ports of its own, until the
// test ends. It returns once ferrule says that it is ready.
func Start(t testing.TB, o Options) *Plane {
	t.Helper()
	dir := t.TempDir()
	p := &Plane{
		t: t, binary: Binary(t), DataDir: filepath.Join(dir, "data"), Log: filepath.Join(dir, "ferrule.log"),
		env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, o.Env...),
	}
	ports, err := freePorts(3)
	if err != nil {
		t.Fatalf("ferrule: %v", err)
	}
	p.args = []string{
		"up", "--data", p.DataDir, "--listen", fmt.Sprintf("127.0.0.1:%d", ports[0]),
		"--set", "link.host_ip=127.0.0.1", "--set", fmt.Sprintf("link.port=%d", ports[1]),
		"--set", "siteagent.host_ip=127.0.0.1", "--set", fmt.Sprintf("siteagent.port=%d", ports[2]),
	}
	if o.Config != "" {
		conf := filepath.Join(dir, "ironic.conf")
		if err := os.WriteFile(conf, []byte(o.Config), 0o600); err != nil {
			t.Fatalf("ferrule: %v", err)
		}
		p.args = append(p.args, "--config", conf)
	}
	p.args = append(p.args, o.Args...)
	t.Cleanup(p.end)
	p.launch(nil)
	return p
}

// PID is the process's id.
func (p *Plane) PID() int { return p.command.Process.Pid }

// Ended is closed once the process is gone, however it ended.
func (p *Plane) Ended() <-chan struct{} { return p.ended }

// Kill ends the process as a power cut would, and waits until it is gone.
func (p *Plane) Kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Stop asks the process to stop, and waits until it is gone.
func (p *Plane) Stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		p.t.Errorf("ferrule did not stop in %s", stopLimit)
		p.Kill()
	}
}

// Restart stops the process if it runs, and starts it again on the same data
// folder and the same ports. env is added for this run only.
func (p *Plane) Restart(env ...string) {
	p.t.Helper()
	p.Stop()
	p.launch(env)
}

func (p *Plane) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("ferrule: %v", err)
	}
}

// end is the test's end.
func (p *Plane) end() {
	if p.command != nil {
		p.Stop()
	}
	if p.t.Failed() {
		p.t.Logf("the end of ferrule's log:\n%s", p.logTail())
	}
}

func (p *Plane) launch(env []string) {
	p.t.Helper()
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		p.t.Fatalf("ferrule: %v", err)
	}
	defer log.Close() // the process has its own
	before, err := log.Stat()
	if err != nil {
		p.t.Fatalf("ferrule: %v", err)
	}
	command := exec.Command(p.binary, p.args...)
	command.Args[0] = "ferrule"
	command.Stdout, command.Stderr, command.Dir = log, log, filepath.Dir(p.Log)
	command.Env = append(append([]string{}, p.env...), env...)
	// It goes with the test process, however that ends; a Ctrl-C is the test's.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		p.t.Fatalf("ferrule: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // how it ended shows in its log
	}()
	p.command, p.ended = command, ended
	p.awaitReady(before.Size())
}

// awaitReady reads what is printed after this many bytes of the log, until the
// line that names the endpoint.
func (p *Plane) awaitReady(from int64) {
	p.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.After(startLimit)
	for {
		if url := readyAt(p.Log, from); url != "" {
			p.URL = url
			return
		}
		select {
		case <-p.ended:
			p.t.Fatal("ferrule ended before it was ready")
		case <-late:
			p.t.Fatalf("ferrule was not ready in %s", startLimit)
		case <-look.C:
		}
	}
}

func readyAt(log string, from int64) string {
	text, err := os.ReadFile(log)
	if err != nil || int64(len(text)) < from {
		return ""
	}
	_, after, found := bytes.Cut(text[from:], []byte("ferrule is ready at "))
	url, _, whole := bytes.Cut(after, []byte("\n"))
	if !found || !whole {
		return ""
	}
	return strings.TrimSpace(string(url))
}

func (p *Plane) logTail() []byte {
	const most = 6000
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}

// freePorts gives ports on loopback that nothing listens on. They lie below
// those that the kernel gives to connections, so that they are still free when
// ferrule comes back to them.
func freePorts(n int) ([]int, error) {
	const lowest, highest, tries = 12000, 32000, 1000
	var ports []int
	for range tries {
		if len(ports) == n {
			return ports, nil
		}
		port := lowest + rand.IntN(highest-lowest)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer listener.Close() // until all are found, so that each is found once
		ports = append(ports, port)
	}
	return nil, errors.New("no ports are free")
}
