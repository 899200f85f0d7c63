package plane

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Binary gives a path to the program ferrule, built from these sources once in
// a test process. The path works for as long as the test process lives.
func Binary(t testing.TB) string {
	t.Helper()
	program, err := program()
	if err != nil {
		t.Fatalf("ferrule: %v", err)
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), program.Fd())
}

var program = sync.OnceValues(build)

// build gives the open program. It leaves nothing behind: the file loses its
// name here, and goes with this process.
func build() (*os.File, error) {
	if err := lookAtSources(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "ferrule-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ferrule")
	if output, err := exec.Command("go", "build", "-o", path, "ferrule/cmd/ferrule").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build it: %w\n%s", err, output)
	}
	return os.Open(path)
}

// lookAtSources makes the go command count every file of the module as an input
// of the test, so that it does not take the result of another ferrule from its
// cache.
func lookAtSources() error {
	output, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "ferrule").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	root := strings.TrimSpace(string(output))
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(entry.Name(), ".") && path != root
		if entry.IsDir() && (hidden || entry.Name() == "bin") {
			return fs.SkipDir
		}
		_, err = os.Stat(path)
		return err
	})
}
