package ramdisk

import (
	"context"
	"time"

	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

// awaitEnd looks at a command that still runs until it has ended, or until the
// call's time is over; then the result says that the command is running. An
// answer to the request itself can take no longer than requestTimeout.
func (s *session) awaitEnd(ctx context.Context, result metal.RamdiskCallResult) (metal.RamdiskCallResult, error) {
	failures := 0
	for running(result) && (s.Until.IsZero() || time.Until(s.Until) > s.poll) {
		if err := pause(ctx, s.poll); err != nil {
			return result, s.lost(err, true)
		}
		list, err := s.list(ctx)
		switch {
		case err != nil && refusal.CodeOf(err, "") != "":
			return result, err
		case err != nil:
			if failures++; failures == attempts {
				return result, s.lost(err, true)
			}
			continue
		case list.Busy:
			continue
		}
		failures = 0
		command := list.Find(result.Command.ID)
		if command == nil {
			return result, refusal.New(metal.CodeOutcomeUnknown,
				"the ramdisk at %s no longer lists the command %s; it was probably restarted", s.endpoint, s.Command)
		}
		result = metal.RamdiskCallResult{Command: command}
	}
	return result, nil
}

func running(r metal.RamdiskCallResult) bool {
	return r.Command != nil && r.Command.Status == metal.RamdiskRunning
}
