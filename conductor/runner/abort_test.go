package runner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

// An abort is heeded whichever step it meets, the last one too: at once where
// the step may be cut short, and else at the step's end. It says so, and no
// further step is begun. A service that is aborted ends in active, as Ironic's
// does, by way of service failed.
func TestAnAbortIsHeededDuringAnyStep(t *testing.T) {
	names := []string{"erase_devices", "burnin_cpu"}
	for _, verb := range []struct {
		verb             metal.Verb
		kind             string
		from, wait, ends metal.State
	}{
		{metal.VerbClean, "clean", metal.Manageable, metal.CleanWait, metal.CleanFailed},
		{metal.VerbService, "service", metal.Active, metal.ServiceWait, metal.Active},
	} {
		for at, name := range names {
			for _, abortable := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/abortable=%t", verb.kind, name, abortable), func(t *testing.T) {
					s := inState(t, redfishNode(), verb.from)
					s.offers(verb.kind, names, abortable)
					s.verb(verb.verb, metal.JSON(fmt.Sprintf(
						`{"%s_steps":[{"interface":"deploy","step":"erase_devices"},{"interface":"deploy","step":"burnin_cpu"}]}`, verb.kind)))
					for range 30 {
						if slices.Contains(s.done(), name) {
							break
						}
						s.beat()
					}
					s.must(verb.wait)
					s.signal(metal.VerbAbort)
					if !abortable {
						s.must(verb.wait)
						s.beatUntil(verb.ends)
					}
					s.must(verb.ends)
					if got := text(s.world.Node.LastError); !strings.Contains(got, "aborted") || !strings.Contains(got, name) {
						t.Errorf("last_error %s", got)
					}
					if begun := s.done(); !slices.Equal(begun, names[:at+1]) {
						t.Errorf("the steps begun are %v", begun)
					}
				})
			}
		}
	}
}

// offers has the ramdisk offer these steps and no others.
func (s *sim) offers(kind string, names []string, abortable bool) {
	obey := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		var a metal.RamdiskCallArgs
		if o.Request.Operation == metal.RamdiskCall {
			decode(s.t, o.Request.ArgsJSON, &a)
		}
		if a.Command != kind+".get_"+kind+"_steps" {
			return obey(o)
		}
		var steps []any
		for _, name := range names {
			steps = append(steps, map[string]any{"interface": "deploy", "step": name, "priority": 0, "abortable": abortable})
		}
		return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{
			Status: "SUCCEEDED", Result: map[string]any{kind + "_steps": map[string]any{"Generic": steps}},
		}})
	}
}
