// Package files damages each file of a real run's data folder, and starts
// Ferrule on it again. docs/operating.md says what is to come of it.
package files

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/plane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type harm struct {
	name string
	do   func(path string) error
}

var harms = []harm{
	{"emptied", func(path string) error { return os.Truncate(path, 0) }},
	{"truncated", func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}},
	{"garbled", func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("garbled "), 9000), 0o600) }},
	{"missing", os.Remove},
}

// starts is the outcome of a file that is made again.
const starts = ""

// documented is, for each file, what a start says after each harm.
var documented = []struct {
	file                                 string
	emptied, truncated, garbled, missing string
}{
	{"ferrule.sqlite.state", starts, starts, starts, starts},
	{"ferrule.sqlite.lock", starts, starts, starts, starts},
	{"deployment.key", "is damaged", "is damaged", "is damaged", "is missing"},
	{"deployment.json", starts, starts, starts, starts},
	{"agent/bmcs.txt", starts, starts, starts, starts},
	{"agent/agent.lock", starts, starts, starts, starts},
	{"agent/identity.json", starts, starts, starts, starts},
	{"agent/journal.jsonl", starts, starts, starts, starts},
	{"agent/media/grants.json", starts, starts, starts, starts},
}

// The database after a stop in order, and its log after a kill.
var (
	stoppedOnly = [4]string{"is missing or empty", "is damaged", "is damaged", "is missing or empty"}
	killedLog   = [4]string{"is empty", starts, "is damaged", "is missing"}
)

func TestEveryFileThatIsLostIsMadeAgainOrNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Ferrule some forty times")
	}
	p := plane.Start(t, plane.Options{})
	p.Must(http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "kept"})
	p.Provision("kept", "manage", nil)
	p.AwaitState("kept", "manageable", time.Minute)
	p.Stop()
	stopped := copyOf(t, p.DataDir)
	p.Launch()
	p.AwaitReady()
	p.Kill()
	killed := copyOf(t, p.DataDir)
	for _, d := range documented {
		t.Run(d.file, func(t *testing.T) {
			each(t, stopped, d.file, [4]string{d.emptied, d.truncated, d.garbled, d.missing})
		})
	}
	t.Run("ferrule.sqlite", func(t *testing.T) { each(t, stopped, "ferrule.sqlite", stoppedOnly) })
	t.Run("ferrule.sqlite-wal", func(t *testing.T) { each(t, killed, "ferrule.sqlite-wal", killedLog) })
	t.Run("all", func(t *testing.T) { everyFileHasARow(t, stopped, killed) })
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// each does each harm to one file of a copy and starts Ferrule on it.
func each(t *testing.T, from, file string, says [4]string) {
	for i, h := range harms {
		t.Run(h.name, func(t *testing.T) {
			p := plane.New(t, plane.Options{})
			if err := os.Rename(copyOf(t, from), p.DataDir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(p.DataDir, filepath.FromSlash(file))
			if err := h.do(path); err != nil {
				t.Fatal(err)
			}
			p.Launch()
			if says[i] == starts {
				p.AwaitReady()
				p.Must(http.MethodGet, "/v1/nodes/kept", nil)
				return
			}
			select {
			case <-p.Ended():
			case <-time.After(time.Minute):
				t.Fatalf("it goes on without %s", file)
			}
			log, err := os.ReadFile(p.Log)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{says[i], path, "put "} {
				if !strings.Contains(string(log), want) {
					t.Errorf("it does not say %q:\n%s", want, log)
				}
			}
			if info, err := os.Stat(path); h.name == "missing" && err == nil {
				t.Errorf("%s was made again, with %d bytes", file, info.Size())
			}
		})
	}
}

// everyFileHasARow fails for a file of a run that no row tells of.
func everyFileHasARow(t *testing.T, folders ...string) {
	known := map[string]bool{"ferrule.sqlite": true, "ferrule.sqlite-wal": true, "ferrule.sqlite-shm": true}
	for _, d := range documented {
		known[d.file] = true
	}
	for _, dir := range folders {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if !known[filepath.ToSlash(name)] {
				t.Errorf("no row tells of %s", name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
