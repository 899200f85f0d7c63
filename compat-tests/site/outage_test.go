package site_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
)

// cutOff is how long an agent is cut off: long enough for both ends to notice,
// and for a machine to call in vain.
var cutOff = flag.Duration("cutoff", time.Minute, "how long agents are cut off in the middle of a deployment")

func TestADeploymentGoesOnWhenItsAgentIsBack(t *testing.T) {
	if testing.Short() {
		t.Skip("waits on purpose")
	}
	t.Parallel()
	t.Run("the line is cut", func(t *testing.T) {
		t.Parallel()
		line := newTap(t)
		r := start(t, plane.Options{Args: line.link(t)}, lab.Config{})
		r.deployThrough("", line.cut, line.mend)
	})
	t.Run("the agent stands still", func(t *testing.T) {
		t.Parallel()
		r := start(t, plane.Options{}, lab.Config{})
		lisbon := r.joinSite("lisbon")
		lisbon.Launch()
		r.awaitAlive("lisbon", true)
		r.deployThrough("lisbon", func() { send(t, lisbon, syscall.SIGSTOP) }, func() { send(t, lisbon, syscall.SIGCONT) })
	})
	t.Run("the agent is killed", func(t *testing.T) {
		t.Parallel()
		r := start(t, plane.Options{}, lab.Config{})
		lisbon := r.joinSite("lisbon")
		lisbon.Launch()
		r.awaitAlive("lisbon", true)
		r.deployThrough("lisbon", lisbon.Kill, func() { lisbon.Launch() })
	})
}

func send(t *testing.T, a *agent, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(a.PID(), s); err != nil {
		t.Fatal(err)
	}
}

// slowImage serves the image, its second half once it is released.
func (r *rig) slowImage() (url string, begun <-chan struct{}, release func()) {
	r.t.Helper()
	reached, released := make(chan struct{}), make(chan struct{})
	var once, again sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(r.disk)))
		half := len(r.disk) / 2
		_, _ = w.Write(r.disk[:half]) // whoever reads may go
		once.Do(func() { close(reached) })
		<-released
		_, _ = w.Write(r.disk[half:])
	}))
	release = func() { again.Do(func() { close(released) }) }
	r.t.Cleanup(server.Close)
	r.t.Cleanup(release)
	return server.URL + "/disk.raw", reached, release
}

// deployThrough deploys a node of the site, whose agent is away while the
// image is written and ends.
func (r *rig) deployThrough(site string, leave, comeBack func()) {
	r.t.Helper()
	s := r.server(0)
	node := r.enrol(s, map[string]any{"conductor_group": site})
	r.prepare(node)
	source, begun, release := r.slowImage()
	r.setImageFrom(node, source)
	r.Provision(node, "active", drive(node, "#cloud-config\n"))
	select {
	case <-begun:
	case <-time.After(patience):
		r.t.Fatal("the image is not written")
	}
	r.Await(node, "the wait for the image", patience, waitsForRamdisk)
	leave()
	release() // the step ends while nobody can hear of it
	r.watchWaiting(node, *cutOff)
	if site != "" {
		r.awaitAlive(site, false)
	}
	comeBack()
	if n := r.rest(node, "active"); n["last_error"] != nil {
		r.t.Errorf("the node is active with %v", n["last_error"])
	}
	until(r.t, "the instance to start", func() bool { return s.Machine.Snapshot().LastBoot.Booted })
}

func waitsForRamdisk(n map[string]any) bool { return n["provision_state"] == "wait call-back" }

// watchWaiting sees that the node stays at the step that writes the image, for
// that long: it waits for the ramdisk, or for the agent to ask it, where its last
// call came just before the agent went.
func (r *rig) watchWaiting(node string, how time.Duration) {
	r.t.Helper()
	over := time.After(how)
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for {
		n := r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
		step, _ := n["deploy_step"].(map[string]any)
		waits := waitsForRamdisk(n) || n["provision_state"] == "deploying"
		if !waits || step["step"] != "write_image" || n["last_error"] != nil {
			r.t.Fatalf("while its agent is away the node is %v at %v: %v", n["provision_state"], step, n["last_error"])
		}
		select {
		case <-over:
			return
		case <-look.C:
		}
	}
}
