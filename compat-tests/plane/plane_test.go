package plane_test

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/plane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestItKeepsItsNodesAndItsAddressOverAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts it twice")
	}
	p := plane.Start(t, plane.Options{})
	node := p.Must(http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware", "name": "kept"})
	url, pid := p.URL, p.PID()
	p.Kill()
	select {
	case <-p.Ended():
	default:
		t.Error("it is not said to have ended")
	}
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the killed process: %v", err)
	}
	p.Restart()
	if p.URL != url || p.PID() == pid {
		t.Errorf("%s, process %d; after the restart %s, process %d", url, pid, p.URL, p.PID())
	}
	if kept := p.Must(http.MethodGet, "/v1/nodes/kept", nil); kept["uuid"] != node["uuid"] {
		t.Errorf("the node is %v", kept["uuid"])
	}
	p.Provision("kept", "manage", nil)
	p.AwaitState("kept", "manageable", 20*time.Second)
	log, err := os.ReadFile(p.Log)
	if n := strings.Count(string(log), "ferrule is ready at "); err != nil || n != 2 {
		t.Errorf("the log tells of %d starts, %v", n, err)
	}
}

func TestOptionsReachIt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	p := plane.Start(t, plane.Options{
		Config: "[DEFAULT]\nenabled_hardware_types = fake-hardware,manual-management\n",
		Args:   []string{"--set", "api.max_limit=1"}, Env: []string{"OS_DEFAULT__DEBUG=true"},
	})
	drivers := p.Must(http.MethodGet, "/v1/drivers", nil)["drivers"]
	if list, ok := drivers.([]any); !ok || len(list) != 2 {
		t.Errorf("drivers %v", drivers)
	}
	for range 2 {
		p.Must(http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware"})
	}
	if page := p.Must(http.MethodGet, "/v1/nodes", nil); page["next"] == nil {
		t.Errorf("one page holds all nodes: %v", page)
	}
	if a := p.Call(http.MethodGet, "/v1/nodes/none", nil); a.Status != http.StatusNotFound {
		t.Errorf("an unknown node: %d %s", a.Status, a.Text)
	}
	p.Stop()
}
