// Package failpoint ends or stops the own process at a named place, so that
// tests can show what survives a kill or a freeze between any two steps. It does
// nothing unless FERRULE_FAILPOINT is set, and imports only the standard library.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Env is the variable that arms one point: NAME, or NAME:NTH to let the first
// NTH-1 passages go by. "freeze@NAME:NTH" stops the process (SIGSTOP) where the
// others kill it. "trace" prints each name when it is first passed.
const Env = "FERRULE_FAILPOINT"

const (
	freeze = "freeze@"
	trace  = "trace"
)

// armed is set once from the environment. It is the package's only state: a
// point must be reachable from anywhere without being handed through.
var armed = parse(os.Getenv(Env))

type point struct {
	name   string
	nth    int64
	signal syscall.Signal
	seen   atomic.Int64
	traced *sync.Map // of names; nil: not asked for
}

func parse(spec string) *point {
	if spec == trace {
		return &point{traced: &sync.Map{}}
	}
	spec, freezes := strings.CutPrefix(spec, freeze)
	name, count, counted := strings.Cut(spec, ":")
	if name == "" {
		return nil
	}
	p := &point{name: name, nth: 1, signal: syscall.SIGKILL}
	if freezes {
		p.signal = syscall.SIGSTOP
	}
	if counted {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 1 {
			return nil
		}
		p.nth = n
	}
	return p
}

// due counts a passage and reports whether it is the one asked for.
func (p *point) due(name string) bool {
	return p != nil && p.name == name && p.seen.Add(1) == p.nth
}

// Armed says whether any point is. It is for places whose name takes work to
// make.
func Armed() bool { return armed != nil }

// Hit kills the process with SIGKILL if this point is armed: nothing is
// flushed, no deferred call runs, as in a power cut. A point that freezes stops
// all of the process until it gets a SIGCONT.
func Hit(name string) {
	if armed != nil && armed.traced != nil {
		if _, before := armed.traced.LoadOrStore(name, true); !before {
			fmt.Fprintln(os.Stderr, "failpoint passed:", name)
		}
		return
	}
	if !armed.due(name) {
		return
	}
	fmt.Fprintln(os.Stderr, "failpoint hit:", name)
	_ = syscall.Kill(os.Getpid(), armed.signal)
	if armed.signal == syscall.SIGKILL {
		select {} // the signal is on its way; no step beyond the point may run
	}
}
