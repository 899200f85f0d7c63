package lab

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"ferrule/lab/ramdisk"
)

// StepFault is what is wrong with one ramdisk step or command.
type StepFault struct {
	Fail string `json:"fail,omitempty"` // the step fails with this text
	Hold bool   `json:"hold,omitempty"` // the step does not begin while this is set
}

// stepFaults makes steps fail or wait. It is keyed by the step's name, or by
// the command's ("standby.power_off") for commands that run no step.
type stepFaults struct {
	delay time.Duration

	mu      sync.Mutex
	faults  map[string]StepFault
	changed chan struct{}
}

func newStepFaults(delay time.Duration) *stepFaults {
	return &stepFaults{delay: delay, changed: make(chan struct{})}
}

func (f *stepFaults) set(faults map[string]StepFault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = maps.Clone(faults)
	close(f.changed)
	f.changed = make(chan struct{})
}

// close lets every step go on that is held.
func (f *stepFaults) close() { f.set(nil) }

func (f *stepFaults) of(call ramdisk.Call) (StepFault, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := call.Step
	if name == "" {
		name = call.Command
	}
	return f.faults[name], f.changed
}

// before is called when a command is about to work.
func (f *stepFaults) before(ctx context.Context, call ramdisk.Call) error {
	fault, changed := f.of(call)
	for fault.Hold {
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		fault, changed = f.of(call)
	}
	if fault.Fail != "" {
		return errors.New(fault.Fail)
	}
	if f.delay == 0 || call.Step == "" {
		return nil
	}
	t := time.NewTimer(f.delay)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SetStepFaults replaces what is wrong with the ramdisk's steps, by the name
// of the step, or of the command where there is none.
func (s *Server) SetStepFaults(faults map[string]StepFault) { s.steps.set(faults) }

func (s *Server) hook(more func(context.Context, string, ramdisk.Call) error) func(context.Context, ramdisk.Call) error {
	return func(ctx context.Context, call ramdisk.Call) error {
		if err := s.steps.before(ctx, call); err != nil {
			return err
		}
		if more == nil {
			return nil
		}
		return more(ctx, s.Name, call)
	}
}
