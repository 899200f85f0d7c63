// Package failpoint ends the own process at a named place, so that tests can
// show what survives a kill between any two durable steps. It does nothing
// unless FERRULE_FAILPOINT is set, and imports only the standard library.
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Env is the variable that arms one point: NAME, or NAME:NTH to let the first
// NTH-1 passages go by.
const Env = "FERRULE_FAILPOINT"

// armed is set once from the environment. It is the package's only state: a
// point must be reachable from anywhere without being handed through.
var armed = parse(os.Getenv(Env))

type point struct {
	name string
	nth  int64
	seen atomic.Int64
}

func parse(spec string) *point {
	name, count, counted := strings.Cut(spec, ":")
	if name == "" {
		return nil
	}
	p := &point{name: name, nth: 1}
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

// Hit kills the process with SIGKILL if this point is armed: nothing is
// flushed, no deferred call runs, as in a power cut.
func Hit(name string) {
	if !armed.due(name) {
		return
	}
	fmt.Fprintln(os.Stderr, "failpoint hit:", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way; no step beyond the point may run
}
