package archtest

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write cmd/ferrule-agent/dependencies.txt anew")

// The agent runs at every site, beside its BMCs. Whatever is linked into it is
// looked at: a new dependency shows as a line in a diff, and the commit that
// brings it says why the standard library will not do.
func TestTheAgentsDependenciesAreThoseCommitted(t *testing.T) {
	folder := filepath.Join("..", "..", "cmd", "ferrule-agent")
	if code, err := filepath.Glob(filepath.Join(folder, "*.go")); err != nil || len(code) == 0 {
		return // the list begins with the binary
	}
	lookAtSources(t)
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./"+filepath.Base(folder))
	list.Dir = filepath.Dir(folder)
	// The same list whatever the machine.
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	output, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	slices.Sort(lines) // what is linked, not in which order
	output = []byte(strings.Join(lines, "\n") + "\n")
	file := filepath.Join(folder, "dependencies.txt")
	if *update {
		if err := os.WriteFile(file, output, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: `make generate` writes it", err)
	}
	difference := cmp.Diff(strings.Split(string(committed), "\n"), strings.Split(string(output), "\n"))
	if difference != "" {
		t.Errorf("the agent links other packages than %s says; if that is wanted, `make generate` (-listed +linked):\n%s", file, difference)
	}
}
