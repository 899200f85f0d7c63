package ramdisk

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"ferrule/lab/event"
)

const (
	maskedToken     = "******"
	refreshAttempts = 3
)

// lookup finds the node, trying again for as long as the start-up patience
// lasts: longer after each refusal because of a lock, and at growing distances
// otherwise.
func (a *agent) lookup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.Timing.LookupTimeout)
	defer cancel()
	pause := a.Timing.RetryAfterError / 5
	for {
		answer, err := a.tryLookup(ctx)
		if err == nil {
			return a.adopt(answer)
		}
		wait := pause
		if status(err) == http.StatusConflict {
			wait = a.Timing.RetryAfterError
		} else {
			pause = min(pause*2, 6*a.Timing.RetryAfterError)
		}
		if !sleep(ctx, wait) {
			return fmt.Errorf("looking the node up: %w", err)
		}
		a.failed("lookup", err)
	}
}

func (a *agent) tryLookup(ctx context.Context) (lookupAnswer, error) {
	if a.api.minor == 0 {
		if err := a.api.probe(ctx); err != nil {
			return lookupAnswer{}, fmt.Errorf("reading the API's version: %w", err)
		}
	}
	return a.api.lookup(ctx, a.Hardware.macs(), a.nodeUUID)
}

// refresh looks the node up once more, as the real agent does before it writes
// an image, to learn which disk is meant. The token must be the same; without
// an answer it goes by what it knows (IPA: hardware.update_cached_node).
func (a *agent) refresh(ctx context.Context) error {
	for range refreshAttempts {
		answer, err := a.tryLookup(ctx)
		if err == nil {
			return a.same(answer)
		}
		a.failed("lookup", err)
		if !sleep(ctx, a.Timing.RetryAfterError) {
			break
		}
	}
	return nil
}

func (a *agent) same(answer lookupAnswer) error {
	if answer.Node.UUID != a.nodeUUID {
		return fmt.Errorf("looking the node up again: it is node %s now", answer.Node.UUID)
	}
	if token := answer.Config.AgentToken; token != nil && *token != maskedToken && *token != a.token {
		return errors.New("looking the node up again: the token was changed")
	}
	return nil
}

func (a *agent) adopt(answer lookupAnswer) error {
	a.nodeUUID = answer.Node.UUID
	a.tlsMin = answer.Config.TLSMinVersion
	a.timeout = time.Duration(answer.Config.HeartbeatTimeout * float64(time.Second))
	token := answer.Config.AgentToken
	switch {
	case token == nil:
	case *token == maskedToken:
		if a.token == "" {
			return errLockedDown
		}
	case len(*token) >= 32:
		a.token = *token
	}
	return nil
}

// heartbeats sends one at once, then at the interval that the control plane's
// timeout gives, and whenever a command ended, until ctx ends.
func (a *agent) heartbeats(ctx context.Context, server *server) {
	body := heartbeatBody{CallbackURL: server.url, AgentVersion: Version, AgentToken: a.token, VerifyCA: server.certificate}
	for {
		wait := a.interval()
		if err := a.api.heartbeat(ctx, a.nodeUUID, body); err != nil {
			if ctx.Err() != nil {
				return
			}
			a.failed("heartbeat", err)
			wait = a.Timing.RetryAfterError + rand.N(a.Timing.RetryAfterError)
		} else {
			a.Log.Add(event.Heartbeat)
		}
		if !sleep(ctx, a.Timing.HeartbeatDistance) {
			return
		}
		timer := time.NewTimer(max(wait-a.Timing.HeartbeatDistance, 0))
		select {
		case <-timer.C:
		case <-a.force:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// interval is a random 0.3 to 0.6 of the control plane's timeout.
func (a *agent) interval() time.Duration {
	d := time.Duration(float64(a.timeout) * (0.3 + 0.3*rand.Float64()))
	if a.Timing.HeartbeatMost > 0 {
		d = min(d, a.Timing.HeartbeatMost)
	}
	return d
}

// forceHeartbeat asks for a heartbeat as soon as the distance allows.
func (a *agent) forceHeartbeat() {
	select {
	case a.force <- struct{}{}:
	default:
	}
}

// sleep waits and reports whether ctx still holds.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
