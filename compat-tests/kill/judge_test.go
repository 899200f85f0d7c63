package kill

import (
	"fmt"
	"strings"
	"testing"

	"ferrule/lab/event"
	"ferrule/lab/machine"
	"ferrule/lab/redfish"
)

// What a life asks of a machine, in resets: on for inspection, three cleanings,
// the deployment, the rescue, the service, and four times for the instance; off
// after each of them. Of these, the end of the deployment may come without: the
// ramdisk goes off by itself.
const (
	onsPerLife = 11
	mostOffs   = 11
	leastOffs  = 10
)

// judgeMachine fails the test where a machine was made to do something twice,
// or not as often as its lives need.
func judgeMachine(t *testing.T, l *life) {
	t.Helper()
	snapshot, err := l.lab.Server(t.Context(), l.server.Name)
	if err != nil {
		t.Fatal(err)
	}
	events, err := l.lab.Events(t.Context(), l.server.Name, 0, 0)
	if err != nil || len(events) == 0 || events[0].Seq != 1 {
		t.Fatalf("%s: the lab no longer knows all that happened: %v", l.name, err)
	}
	ons, offs := 0, 0
	for _, a := range snapshot.BMC.Actions {
		switch machine.ResetType(a.Type) {
		case machine.ResetOn:
			ons++
		case machine.ResetForceOff:
			offs++
		default:
			t.Errorf("%s was asked for %s", l.name, a.Type)
		}
	}
	if ons != onsPerLife*l.lives || offs < leastOffs*l.lives || offs > mostOffs*l.lives {
		t.Errorf("%s was switched on %d times and off %d times in %d lives", l.name, ons, offs, l.lives)
	}
	if wrote := timesStarted(events, "write_image"); wrote != l.lives {
		t.Errorf("%s was given an image %d times in %d lives", l.name, wrote, l.lives)
	}
	for _, twice := range doneTwice(events) {
		t.Errorf("%s: %s", l.name, twice)
	}
	if snapshot.Power != machine.Off || snapshot.Media != "" {
		t.Errorf("%s at the end: power %s, medium %q", l.name, snapshot.Power, snapshot.Media)
	}
	judgeLogins(t, l, snapshot.BMC)
}

func judgeLogins(t *testing.T, l *life, seen redfish.Observed) {
	t.Helper()
	for _, login := range seen.Logins {
		if !login.Right {
			t.Errorf("%s was given a wrong password %d times", l.name, login.Count)
		}
	}
}

func timesStarted(events []event.Event, step string) int {
	n := 0
	for _, e := range events {
		if event.Is(event.CommandStarted, "step", step)(e) {
			n++
		}
	}
	return n
}

// doneTwice names each reset that was asked for again although the power had
// not changed since, and each step that one boot of a ramdisk did again.
func doneTwice(events []event.Event) []string {
	var found []string
	last := ""
	steps := map[string]bool{}
	for i, e := range events {
		switch e.Kind {
		case event.PowerAction:
			if e.Detail["type"] == last {
				found = append(found, fmt.Sprintf("%s was asked for twice:\n%s", last, around(events, i)))
			}
			last = e.Detail["type"]
		case event.PowerChanged:
			last = ""
		case event.RamdiskStarted:
			steps = map[string]bool{}
		case event.CommandStarted:
			step := e.Detail["command"] + " " + e.Detail["step"]
			if e.Detail["step"] == "" {
				continue
			}
			if steps[step] {
				found = append(found, fmt.Sprintf("the ramdisk did %s twice:\n%s", step, around(events, i)))
			}
			steps[step] = true
		}
	}
	return found
}

// around is what happened just before event i, and it.
func around(events []event.Event, i int) string {
	var lines []string
	for _, e := range events[max(0, i-20) : i+1] {
		lines = append(lines, e.Time.Format("15:04:05.000 ")+e.String())
	}
	return strings.Join(lines, "\n")
}
