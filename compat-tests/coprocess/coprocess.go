// Package coprocess keeps a program at a test's side that answers each line of
// JSON with one: a library of another language, loaded once and asked often. It
// imports only the standard library.
package coprocess

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Process is a running program.
type Process struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
	log string
}

// Start runs the program in a folder of its own, which is its home too, until
// the test ends. It has to end with its standard input; what it writes to its
// standard error is shown when the test fails.
func Start(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	home := t.TempDir()
	p := &Process{t: t, log: filepath.Join(home, "coprocess.log")}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the program has its own
	command := exec.Command(program, args...)
	command.Dir, command.Stderr = home, log
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "LC_ALL=C.UTF-8"}
	// It goes with the test process, however that ends; a Ctrl-C is the test's.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		if t.Failed() {
			t.Logf("the end of what %s said:\n%s", program, p.tail())
		}
	})
	return p
}

// Ask sends a question and reads the answer into what into points to.
func (p *Process) Ask(question, into any) {
	p.t.Helper()
	line, err := json.Marshal(question)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		p.t.Fatalf("asking the coprocess: %v", err)
	}
	answer, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("the coprocess gave no answer to %s: %v", line, err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		p.t.Fatalf("the coprocess's answer: %v: %s", err, answer)
	}
}

func (p *Process) tail() []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-6000):]
}
