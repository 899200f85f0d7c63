package memory

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestTheLimitIsThatOfTheCgroupUnlessTheEnvironmentSetsOne(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	cgroup := func() (uint64, error) { return 1 << 40, nil }

	t.Setenv("GOMEMLIMIT", "2TiB") // the runtime has read it long ago
	limit(cgroup)
	if got := debug.SetMemoryLimit(-1); got != before {
		t.Errorf("the environment's limit became %d", got)
	}
	if err := os.Unsetenv("GOMEMLIMIT"); err != nil { // t.Setenv restores it
		t.Fatal(err)
	}
	limit(cgroup)
	if got, most := debug.SetMemoryLimit(-1), int64(1<<40); got >= most || got < most/2 {
		t.Errorf("the limit is %d of %d", got, most)
	}
}
