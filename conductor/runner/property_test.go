package runner_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

// TestEveryOperationEnds lets everything go wrong that can: any answer to any
// command, calls and aborts at any time. Whatever happens, time alone brings
// the node to a stable or failed state (once nobody holds it), unlocked, without a target that it
// does not work for, and never outside the table of transitions.
func TestEveryOperationEnds(t *testing.T) {
	codes := []metal.ErrorCode{"", "", "", "", metal.CodeUnreachable, metal.CodeAuthFailed, metal.CodeBMCError, metal.CodeOutcomeUnknown}
	rapid.Check(t, func(rt *rapid.T) {
		n := anyNode(rt)
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
			s.anything(rt)
		}
		s.passTime(rt)
	})
}

// anyNode is a node of either sort of hardware, in a state that work can begin in.
func anyNode(rt *rapid.T) metal.Node {
	n := fakeNode()
	if rapid.Bool().Draw(rt, "real") {
		n = rescuable()
		withImage(&n)
	}
	n.ProvisionState = rapid.SampledFrom([]metal.State{metal.Enroll, metal.Manageable, metal.Available, metal.Active}).Draw(rt, "state")
	return n
}

// anySteps are the arguments of whichever verb takes steps.
func anySteps(rt *rapid.T) metal.JSON {
	steps := rapid.SliceOfN(rapid.SampledFrom([]string{
		`{"interface":"deploy","step":"erase_devices","priority":90}`,
		`{"interface":"deploy","step":"burnin_cpu","priority":90}`,
		`{"interface":"vendor","step":"log_passthrough","priority":90}`,
		`{"interface":"vendor","step":"trigger_servicewait","priority":90}`,
		`{"interface":"power","step":"hold","priority":90}`,
		`{"interface":"power","step":"wait","priority":90}`,
		`{"interface":"power","step":"wait","args":{"seconds":10},"priority":90}`,
		`{"interface":"power","step":"wait","args":{"seconds":"soon"},"priority":90}`,
		`{"interface":"power","step":"reboot","priority":90}`,
		`{"interface":"bios","step":"nosuch","priority":90}`,
	}), 1, 3).Draw(rt, "steps")
	list := "[" + strings.Join(steps, ",") + "]"
	return metal.JSON(`{"clean_steps":` + list + `,"service_steps":` + list + `,"deploy_steps":` + list + `}`)
}

// anything lets one thing happen that may happen now.
func (s *sim) anything(rt *rapid.T) {
	var possible []metal.Verb
	state := s.world.Node.ProvisionState
	for _, v := range metal.Verbs() {
		_, ok := metal.VerbTransition(state, v.Verb)
		signal := v.Verb == metal.VerbAbort || v.Verb == metal.VerbUnhold
		if ok && !signal && (len(s.world.Operations) == 0 || s.world.Node.Reservation == nil) {
			possible = append(possible, v.Verb)
		}
	}
	action := rapid.SampledFrom([]string{"verb", "verb", "abort", "unhold", "beat", "beat", "timer", "action"}).Draw(rt, "action")
	switch {
	case action == "verb" && len(possible) > 0:
		s.world.Operations = nil // what waits for somebody else gives way
		s.verb(rapid.SampledFrom(possible).Draw(rt, "verb"), anySteps(rt))
	case (action == "abort" || action == "unhold") && len(s.world.Operations) > 0:
		if _, ok := metal.VerbTransition(state, metal.Verb(action)); ok {
			s.signal(metal.Verb(action))
		}
	case action == "timer" && len(s.timers) > 0:
		s.fire()
	case action == "action" && state.Is(metal.Active, metal.Manageable, metal.Available): // elsewhere it would clear last_error
		s.act(metal.ActionBootMode, metal.BootModeArgs{Mode: "uefi"})
	case state.Is(metal.InspectWait):
		s.post(metal.InboxInspection, metal.InspectionPayload{Inventory: `{}`, PluginData: `{}`})
		s.run()
	default:
		s.beat()
	}
}

// passTime lets every timer fire until nothing is under way.
func (s *sim) passTime(t *rapid.T) {
	for range 50 {
		s.world.Node.Maintenance = false // in maintenance a wait lasts until it is left
		if len(s.world.Operations) == 0 {
			break
		}
		s.world.Now = s.world.Now.Add(3 * time.Hour)
		if _, held := metal.VerbTransition(s.world.Node.ProvisionState, metal.VerbUnhold); held {
			s.signal(metal.VerbUnhold) // a hold lasts until a user ends it
			continue
		}
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
