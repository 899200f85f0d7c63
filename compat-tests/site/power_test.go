package site_test

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
)

// done counts the commands that an agent has carried out for a node.
func done(t *testing.T, log, node string) int {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "command done") && strings.Contains(line, node) {
			n++
		}
	}
	return n
}

func TestAPowerChangeAtTheBMCShows(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{Args: []string{"--set", "siteagent.watch_interval=1"}}, lab.Config{})
	s := r.server(0)
	node := r.enrol(s, nil)
	r.verb(node, "manage", "manageable", nil)
	shows := func(want string) {
		t.Helper()
		until(t, "the node to show "+want, func() bool {
			return r.Must(http.MethodGet, "/v1/nodes/"+node, nil)["power_state"] == want
		})
	}
	shows("power off")
	// The lease is an order of the control plane too, the one that it gives; it
	// may be renewed once, soon after the start.
	const renewals = 1
	until(t, "the lease of the watch", func() bool { return done(t, r.Log, node) >= 3 })
	before := done(t, r.Log, node)
	for range 2 {
		for _, change := range []struct{ press, want string }{{"on", "power on"}, {"off", "power off"}} {
			if err := s.Press(change.press); err != nil {
				t.Fatal(err)
			}
			shows(change.want)
		}
	}
	if after := done(t, r.Log, node); after > before+renewals {
		t.Errorf("the control plane had the agent do %d commands to see the power", after-before)
	}
	n := r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
	if n["provision_state"] != "manageable" || n["maintenance"] != false || n["last_error"] != nil || n["health"] != "OK" {
		t.Errorf("the node is %v, maintenance %v, %v, health %v", n["provision_state"], n["maintenance"], n["last_error"], n["health"])
	}
}
