package runner_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

// TestEveryOperationEnds lets everything go wrong that can: any answer to any
// command, calls and aborts at any time. Whatever happens, time alone brings
// the node to a stable or failed state, unlocked, without a target that it
// does not work for, and never outside the table of transitions.
func TestEveryOperationEnds(t *testing.T) {
	codes := []metal.ErrorCode{"", "", "", "", metal.CodeUnreachable, metal.CodeAuthFailed, metal.CodeBMCError, metal.CodeOutcomeUnknown}
	verbs := []metal.Verb{metal.VerbManage, metal.VerbInspect, metal.VerbProvide, metal.VerbActive, metal.VerbDeleted, metal.VerbRebuild, metal.VerbClean}
	rapid.Check(t, func(rt *rapid.T) {
		n := redfishNode()
		withImage(&n)
		s := newSim(t, n)
		unknowns := 0
		s.answer = func(o runner.Order) metal.CommandResult {
			code := rapid.SampledFrom(codes).Draw(rt, "code")
			if code == metal.CodeOutcomeUnknown {
				if unknowns++; unknowns > 10 {
					code = ""
				}
			}
			if code != "" {
				return refused(code, "it went wrong")
			}
			return s.obey(o)
		}
		for range rapid.IntRange(1, 25).Draw(rt, "length") {
			var possible []metal.Verb
			for _, v := range verbs {
				if _, ok := metal.VerbTransition(s.world.Node.ProvisionState, v); ok && len(s.world.Operations) == 0 {
					possible = append(possible, v)
				}
			}
			switch {
			case len(possible) > 0:
				s.verb(rapid.SampledFrom(possible).Draw(rt, "verb"), `{"clean_steps":[{"interface":"deploy","step":"erase_devices"}]}`)
			case rapid.Bool().Draw(rt, "abort"):
				s.post(metal.InboxVerb, metal.VerbPayload{Verb: "abort", OperationID: s.world.Operations[0].ID})
				s.run()
			default:
				s.beat()
			}
		}
		s.passTime(rt)
	})
}

// passTime lets every timer fire until nothing is under way.
func (s *sim) passTime(t *rapid.T) {
	for range 50 {
		s.world.Node.Maintenance = false // in maintenance a wait lasts until it is left
		if len(s.world.Operations) == 0 {
			break
		}
		s.world.Now = s.world.Now.Add(3 * time.Hour)
		timers := s.timers
		s.timers = nil
		for _, timer := range timers {
			s.post(metal.InboxTimer, timer)
		}
		s.run()
	}
	n := s.world.Node
	info, _ := n.ProvisionState.Info()
	if len(s.world.Operations) != 0 || n.Reservation != nil || info.Class == metal.Transient {
		t.Fatalf("stuck in %s: %d operations, reservation %s, plan %v",
			n.ProvisionState, len(s.world.Operations), text(n.Reservation), s.world.Operations)
	}
	if info.Class == metal.Stable && n.TargetProvisionState != metal.NoState {
		t.Fatalf("in %s the target is still %s", n.ProvisionState, n.TargetProvisionState)
	}
	if info.Class == metal.Failure && n.LastError == nil {
		t.Fatalf("%s without last_error", n.ProvisionState)
	}
}
