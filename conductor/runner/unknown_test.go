package runner_test

import (
	"fmt"
	"slices"
	"testing"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

// wholeLife takes a node from enroll to available by way of active.
func (s *sim) wholeLife() {
	s.t.Helper()
	s.verb(metal.VerbManage, "")
	s.must(metal.Manageable)
	s.verb(metal.VerbInspect, "")
	s.must(metal.InspectWait)
	s.post(metal.InboxInspection, metal.InspectionPayload{
		Inventory:  `{"interfaces":[{"name":"eth0","mac_address":"52:54:00:00:00:01"}],"cpu":{"architecture":"x86_64"}}`,
		PluginData: `{"error":null}`,
	})
	s.run()
	s.must(metal.Manageable)
	s.verb(metal.VerbProvide, "")
	s.beatUntil(metal.Available)
	withImage(&s.world.Node)
	s.verb(metal.VerbActive, "")
	s.beatUntil(metal.Active)
	s.verb(metal.VerbDeleted, "")
	s.beatUntil(metal.Available)
}

// done lists the ramdisk's steps that reached it, in order.
func (s *sim) done() []string {
	var steps []string
	for _, o := range s.sent {
		if o.Request.Operation != metal.RamdiskCall || s.lost[o.ID] {
			continue
		}
		var a metal.RamdiskCallArgs
		decode(s.t, o.Request.ArgsJSON, &a)
		if step, ok := a.Params["step"].(map[string]any); ok {
			steps = append(steps, fmt.Sprint(step["step"]))
		}
	}
	return steps
}

// TestAnUnknownOutcomeOfAnyCommandIsSettled has an agent die at each command of
// a life in turn, before the machine got it and after.
func TestAnUnknownOutcomeOfAnyCommandIsSettled(t *testing.T) {
	smooth := newSim(t, redfishNode())
	smooth.wholeLife()
	for i, order := range smooth.sent {
		for _, arrives := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d-%s-%v", i, order.Request.Operation, arrives), func(t *testing.T) {
				s := newSim(t, redfishNode())
				s.lost = map[string]bool{}
				count := -1
				s.answer = func(o runner.Order) metal.CommandResult {
					if count++; count != i {
						return s.obey(o)
					}
					s.lost[o.ID] = !arrives
					return refused(metal.CodeOutcomeUnknown, "the agent was killed")
				}
				s.wholeLife()
				if got, want := s.done(), smooth.done(); !slices.Equal(got, want) {
					t.Errorf("the ramdisk did %v, not %v", got, want)
				}
				if text(s.world.Node.LastError) != "null" {
					t.Errorf("last_error %s", text(s.world.Node.LastError))
				}
			})
		}
	}
}

func TestAnAgentThatNeverKnowsAnOutcomeIsNotAskedWithoutEnd(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Active
	s := newSim(t, n)
	s.answer = func(runner.Order) metal.CommandResult {
		return refused(metal.CodeOutcomeUnknown, "the agent cannot read its journal")
	}
	s.open(metal.AxisPower, string(metal.PowerOff), "")
	s.must(metal.Active)
	if len(s.sent) > 200 || s.world.Node.LastError == nil {
		t.Errorf("asked %d times, last_error %s", len(s.sent), text(s.world.Node.LastError))
	}
}
