package site_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

// watched keeps the argument lists and environments of a process and of all
// that it starts.
type watched struct {
	group int
	stop  chan struct{}
	done  sync.WaitGroup

	seen map[string]bool // each text once; read after the end only
}

// watchProcesses looks every few milliseconds, until end.
func watchProcesses(t *testing.T, group int) *watched {
	t.Helper()
	w := &watched{group: group, stop: make(chan struct{}), seen: map[string]bool{}}
	w.look()
	w.done.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
				w.look()
			}
		}
	})
	return w
}

// end stops looking and gives all that was seen.
func (w *watched) end() []byte {
	close(w.stop)
	w.done.Wait()
	var all bytes.Buffer
	for text := range w.seen {
		all.WriteString(text)
		all.WriteByte('\n')
	}
	return all.Bytes()
}

func (w *watched) look() {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return
	}
	for _, folder := range folders {
		if groupOf(folder) != w.group {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil {
				w.seen[string(text)] = true
			}
		}
	}
}

// groupOf is a process's group, 0 where it is gone: the third field behind the
// name, which is in brackets.
func groupOf(folder string) int {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 3 {
		return 0
	}
	group, err := strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0
	}
	return group
}
