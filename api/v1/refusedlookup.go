package v1

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// A ramdisk that is refused asks again every few seconds, as long as its machine
// is on: of the same addresses the log tells once in refusalPeriod, and in all
// of no more than mostRefusals in that time, for anybody may ask.
const (
	refusalPeriod = time.Minute
	mostRefusals  = 1024
)

// refusals are the look-ups that the log has lately told of.
type refusals struct {
	mu   sync.Mutex
	told map[string]time.Time
}

// tell reports whether the log is to tell of key now.
func (r *refusals) tell(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ok := r.told[key]; ok && now.Sub(at) < refusalPeriod {
		return false
	}
	if len(r.told) >= mostRefusals {
		for k, at := range r.told {
			if now.Sub(at) >= refusalPeriod {
				delete(r.told, k)
			}
		}
		if len(r.told) >= mostRefusals {
			return false
		}
	}
	if r.told == nil {
		r.told = map[string]time.Time{}
	}
	r.told[key] = now
	return true
}

// refuseLookup is the answer to a ramdisk whose node is not found. It says
// nothing, so the log says why.
func (s *Service) refuseLookup(ctx context.Context, uuid *string, macs []string, why string) error {
	macs = slices.Sorted(slices.Values(macs))
	key := strings.Join(macs, ",")
	attrs := []slog.Attr{slog.String("macs", key), slog.String("reason", why)}
	if uuid != nil {
		key += " " + *uuid
		attrs = append(attrs, slog.String("node", *uuid))
	}
	if s.refused.tell(key, s.now()) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "a ramdisk's look-up was refused", attrs...)
	}
	return lookupFailed()
}
