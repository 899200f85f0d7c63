// Package memory gives the garbage collector the limit that the kernel would
// otherwise enforce by killing the process.
package memory

import (
	"errors"
	"log/slog"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// Limit sets the memory limit to nine tenths of that of the process's cgroup. The
// environment variable GOMEMLIMIT overrides it; without either there is none.
func Limit() { limit(memlimit.FromCgroup) }

func limit(from memlimit.Provider) {
	_, err := memlimit.SetGoMemLimitWithOpts(memlimit.WithProvider(from), memlimit.WithRatio(0.9))
	if err != nil && !errors.Is(err, memlimit.ErrNoLimit) && !errors.Is(err, memlimit.ErrNoCgroup) && !errors.Is(err, memlimit.ErrCgroupsNotSupported) {
		slog.Warn("the memory limit of the cgroup cannot be read; set GOMEMLIMIT", "error", err)
	}
}
