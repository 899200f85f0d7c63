package metal_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrule/metal"
)

var at = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

func TestEveryTransitionJoinsKnownStates(t *testing.T) {
	seen := map[[2]string]bool{}
	for _, tr := range metal.Transitions() {
		if _, ok := tr.From.Info(); !ok {
			t.Errorf("%v begins in an unknown state", tr)
		}
		if _, ok := tr.To.Info(); !ok {
			t.Errorf("%v ends in an unknown state", tr)
		}
		key := [2]string{string(tr.From), string(tr.Event)}
		if seen[key] {
			t.Errorf("%s has two transitions for %s", tr.From, tr.Event)
		}
		seen[key] = true
	}
	if len(metal.Transitions()) != 93 || len(metal.States()) != 30 {
		t.Errorf("the table has %d transitions of %d states, Ironic's has 93 of 30",
			len(metal.Transitions()), len(metal.States()))
	}
}

func TestEveryTransientStateHasAWayOut(t *testing.T) {
	for _, s := range metal.States() {
		if s.Class != metal.Transient && s.Class != metal.Hold {
			continue
		}
		_, fail := metal.Next(s.State, metal.EventFail)
		_, abort := metal.Next(s.State, metal.EventAbort)
		if !fail && !abort {
			t.Errorf("nothing leads out of %q when its work fails", s.State)
		}
	}
}

func TestAVerbIsAllowedOnlyWhereTheTableSaysSo(t *testing.T) {
	for _, v := range metal.Verbs() {
		for _, s := range metal.States() {
			tr, ok := metal.VerbTransition(s.State, v.Verb)
			if !ok {
				continue
			}
			if tr.Event != v.Event {
				t.Errorf("%s from %s fires %s, the table of verbs says %s", v.Verb, s.State, tr.Event, v.Event)
			}
		}
	}
}

func TestFiringNeverLeavesTheTable(t *testing.T) {
	events := map[metal.Event]bool{}
	for _, tr := range metal.Transitions() {
		events[tr.Event] = true
	}
	var list []metal.Event
	for e := range events {
		list = append(list, e)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := &metal.Node{ProvisionState: metal.Enroll}
		for range rapid.IntRange(1, 40).Draw(t, "length") {
			from := n.ProvisionState
			e := rapid.SampledFrom(list).Draw(t, "event")
			keep := rapid.SampledFrom([]metal.State{metal.NoState, metal.Manageable}).Draw(t, "target")
			err := metal.Fire(n, e, keep, at)
			want, ok := metal.Next(from, e)
			switch {
			case !ok && err == nil:
				t.Fatalf("%s fired in %s, outside the table", e, from)
			case !ok && n.ProvisionState != from:
				t.Fatalf("a refused %s moved the node to %s", e, n.ProvisionState)
			case ok && n.ProvisionState != want.To:
				t.Fatalf("%s led from %s to %s, not %s", e, from, n.ProvisionState, want.To)
			}
			info, _ := n.ProvisionState.Info()
			if info.Class == metal.Stable && n.TargetProvisionState != metal.NoState {
				t.Fatalf("the stable state %s has the target %s", n.ProvisionState, n.TargetProvisionState)
			}
		}
	})
}

func TestInspectionTimesFollowTheState(t *testing.T) {
	n := &metal.Node{ProvisionState: metal.Manageable}
	step := func(e metal.Event) {
		t.Helper()
		if err := metal.Fire(n, e, metal.NoState, at); err != nil {
			t.Fatal(err)
		}
	}
	step(metal.EventInspect)
	if n.InspectionStartedAt == nil || n.InspectionFinishedAt != nil {
		t.Errorf("inspecting: started %v, finished %v", n.InspectionStartedAt, n.InspectionFinishedAt)
	}
	step(metal.EventWait)
	step(metal.EventResume)
	step(metal.EventDone)
	if n.InspectionStartedAt != nil || n.InspectionFinishedAt == nil {
		t.Errorf("manageable: started %v, finished %v", n.InspectionStartedAt, n.InspectionFinishedAt)
	}
}

func TestEveryOperationHasOneKindOfItsOwn(t *testing.T) {
	owners := map[metal.Operation][]metal.Kind{}
	for _, k := range metal.Kinds() {
		for _, op := range k.Operations {
			owners[op] = append(owners[op], k.Kind)
		}
	}
	for op, kinds := range owners {
		want := 1
		if op == metal.PowerGet {
			want = 2 // bmc.query for verbs, bmc.watch for the power watch
		}
		if len(kinds) != want {
			t.Errorf("%s belongs to %v", op, kinds)
		}
		if k, ok := metal.CommandKind(op); !ok || k == metal.KindWatch {
			t.Errorf("verbs run %s under %q", op, k)
		}
	}
}
