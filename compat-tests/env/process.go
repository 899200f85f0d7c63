package env

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// supervisor runs a program until its own standard input ends, which it does
// when the test process lets go of it or dies in whatever way. The program is
// then sent the signal, and the folder is removed.
const supervisor = `
signal=$1 folder=$2; shift 2
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
( cat <&3 >/dev/null; kill -"$signal" $child ) &
watcher=$!
wait $child; code=$?
kill $watcher
rm -rf "$folder"
exit $code
`

// program is what to run under a supervisor.
type program struct {
	arguments []string
	environ   []string
	as        *syscall.Credential // nil: as the test runs
	stop      string              // signal that ends it, such as TERM
	folder    string              // removed at its end
	log       string              // takes its output
}

// process is a running program that ends when the test process does. It owns
// no goroutine, so that a leak check does not see it.
type process struct {
	command *exec.Cmd
	hold    *os.File // the program lives until this is closed
	log     string
	ended   bool
}

func (p program) start() (*process, error) {
	output, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	input, hold, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close()
	arguments := append([]string{"-c", supervisor, "supervisor", p.stop, p.folder}, p.arguments...)
	command := exec.Command("/bin/sh", arguments...)
	command.Stdin, command.Stdout, command.Stderr = input, output, output
	command.Env, command.Dir = p.environ, "/"
	// A group of its own: a Ctrl-C at the terminal is the test's to handle.
	command.SysProcAttr = &syscall.SysProcAttr{Credential: p.as, Setpgid: true}
	if err := command.Start(); err != nil {
		hold.Close()
		return nil, fmt.Errorf("start %s: %w", p.arguments[0], err)
	}
	return &process{command: command, hold: hold, log: p.log}, nil
}

// stop ends the program and waits for its end.
func (p *process) stop() {
	p.hold.Close()
	if !p.ended {
		p.ended = true
		_ = p.command.Wait() // a program that was ended has no good exit code
	}
}

// await asks ready again and again, until it says yes, the program ends or the
// time is up; then the error shows the end of the program's log.
func (p *process) await(ctx context.Context, limit time.Duration, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !ready() {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(p.command.Process.Pid, &status, syscall.WNOHANG, nil)
		if err == nil && pid != 0 {
			p.ended = true
			return p.failed(fmt.Errorf("it ended with %d", status.ExitStatus()))
		}
		select {
		case <-ctx.Done():
			return p.failed(errors.New("it was not ready in time"))
		case <-again.C:
		}
	}
	return nil
}

func (p *process) failed(why error) error {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return fmt.Errorf("%w; its log cannot be read: %w", why, err)
	}
	return fmt.Errorf("%w; the end of its log:\n%s", why, tail(text, 3000))
}
