package plane

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopLimit is what a process that was asked to stop has left.
const stopLimit = 20 * time.Second

// Process is one command of the program ferrule as a process of its own, which
// may be killed and started again.
type Process struct {
	Log string // what it printed; one file over all starts

	t       testing.TB
	binary  string
	args    []string
	env     []string
	command *exec.Cmd
	ended   chan struct{} // closed when the process is gone
	from    int64         // where this run's part of the log begins
}

// NewProcess prepares "ferrule ARGS", with its log in a folder that is its home
// too. It runs from Launch on, at most until the test ends.
func NewProcess(t testing.TB, dir string, args []string, env ...string) *Process {
	t.Helper()
	p := &Process{
		t: t, binary: Binary(t), args: args, Log: filepath.Join(dir, args[0]+".log"),
		env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env...),
	}
	t.Cleanup(p.end)
	return p
}

// Launch starts the process. env is added for this run only.
func (p *Process) Launch(env ...string) {
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
	p.command, p.ended, p.from = command, ended, before.Size()
}

// PID is the process's id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed once the process is gone, however it ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill ends the process as a power cut would, and waits until it is gone.
func (p *Process) Kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Continue wakes a process that has stopped itself (SIGSTOP).
func (p *Process) Continue() {
	p.t.Helper()
	p.signal(syscall.SIGCONT)
}

// Stop asks the process to stop, and waits until it is gone.
func (p *Process) Stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopLimit):
		p.t.Errorf("ferrule did not stop in %s", stopLimit)
		p.Kill()
	}
}

func (p *Process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Errorf("ferrule: %v", err)
	}
}

// Printed is the rest of the first line that this run has printed beginning
// with the words, and whether there is such a line yet.
func (p *Process) Printed(words string) (rest string, there bool) {
	text, err := os.ReadFile(p.Log)
	if err != nil || int64(len(text)) < p.from {
		return "", false
	}
	for line := range bytes.Lines(text[p.from:]) {
		whole := bytes.HasSuffix(line, []byte("\n"))
		if after, found := bytes.CutPrefix(line, []byte(words)); found && whole {
			return strings.TrimSpace(string(after)), true
		}
	}
	return "", false
}

// AwaitPrinted waits for such a line, and gives its rest. A process that ends
// before fails the test.
func (p *Process) AwaitPrinted(words string) string {
	p.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.After(startLimit)
	for {
		if rest, there := p.Printed(words); there {
			return rest
		}
		select {
		case <-p.ended:
			p.t.Fatalf("ferrule %s ended before it printed %q", p.args[0], words)
		case <-late:
			p.t.Fatalf("ferrule %s did not print %q in %s", p.args[0], words, startLimit)
		case <-look.C:
		}
	}
}

// end is the test's end.
func (p *Process) end() {
	if p.command != nil {
		p.Stop()
	}
	if p.t.Failed() {
		p.t.Logf("the end of the log of ferrule %s:\n%s", p.args[0], p.logTail())
	}
}

func (p *Process) logTail() []byte {
	const most = 6000
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-most):]
}
