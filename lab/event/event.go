// Package event keeps what happened to one emulated server, in order, so that
// tests and the demo wait for a happening instead of sleeping. It imports only
// the standard library.
package event

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Kind names what happened.
type Kind string

// The kinds of event.
const (
	PowerAction     Kind = "power-action"     // the BMC was asked for a reset type
	PowerChanged    Kind = "power-changed"    // the machine went on or off
	BootStarted     Kind = "boot-started"     // firmware chose a device
	BootFailed      Kind = "boot-failed"      // nothing runs: reason
	Booted          Kind = "booted"           // the disk's system runs
	RamdiskStarted  Kind = "ramdisk-started"  // the boot medium's kernel line is followed
	RamdiskStopped  Kind = "ramdisk-stopped"  // with the reason
	Inspected       Kind = "inspected"        // the inventory was accepted
	LookedUp        Kind = "looked-up"        // the node's uuid is known
	Heartbeat       Kind = "heartbeat"        // accepted
	CallFailed      Kind = "call-failed"      // a call to the API was refused or did not arrive
	CommandStarted  Kind = "command-started"  // the ramdisk was given a command
	CommandFinished Kind = "command-finished" // with its status
	MediaInserted   Kind = "media-inserted"
	MediaEjected    Kind = "media-ejected"
	MediaFailed     Kind = "media-failed" // the image could not be fetched
	BootSet         Kind = "boot-set"     // the boot override was changed
	Login           Kind = "login"        // first use of a username and password pair
	FaultsSet       Kind = "faults-set"
	PasswordChanged Kind = "password-changed"
)

// Event is one happening. Seq counts from 1 for each server.
type Event struct {
	Seq    uint64            `json:"seq"`
	Time   time.Time         `json:"time"`
	Kind   Kind              `json:"kind"`
	Detail map[string]string `json:"detail,omitempty"`
}

// String is the event on one line, for failure messages.
func (e Event) String() string { return fmt.Sprintf("%d %s %v", e.Seq, e.Kind, e.Detail) }

// Kept is how many events a Log holds; older ones are dropped.
const Kept = 4096

// Log holds the events of one server. The zero value is ready.
type Log struct {
	mu      sync.Mutex
	last    uint64
	events  []Event
	changed chan struct{}
}

// Add appends an event; details come in pairs of key and value.
func (l *Log) Add(kind Kind, details ...string) {
	e := Event{Time: time.Now().UTC(), Kind: kind}
	if len(details) > 1 {
		e.Detail = make(map[string]string, len(details)/2)
		for i := 0; i+1 < len(details); i += 2 {
			e.Detail[details[i]] = details[i+1]
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.Seq = l.last
	l.events = append(l.events, e)
	if len(l.events) > Kept {
		l.events = append([]Event(nil), l.events[len(l.events)-Kept/2:]...)
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Last is the sequence number of the newest event.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Since is every event kept with a number above seq, and a channel that closes
// when there is another.
func (l *Log) Since(seq uint64) ([]Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	i := len(l.events)
	for i > 0 && l.events[i-1].Seq > seq {
		i--
	}
	return append([]Event(nil), l.events[i:]...), l.changed
}

// Wait is the first event after seq that match accepts, waited for until ctx
// ends.
func (l *Log) Wait(ctx context.Context, seq uint64, match func(Event) bool) (Event, error) {
	for {
		events, changed := l.Since(seq)
		for _, e := range events {
			seq = e.Seq
			if match(e) {
				return e, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("waiting for an event after number %d: %w", seq, context.Cause(ctx))
		}
	}
}

// Is matches events of one kind whose details hold the pairs given.
func Is(kind Kind, details ...string) func(Event) bool {
	return func(e Event) bool {
		if e.Kind != kind {
			return false
		}
		for i := 0; i+1 < len(details); i += 2 {
			if e.Detail[details[i]] != details[i+1] {
				return false
			}
		}
		return true
	}
}
