package site_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/redfish"
)

// command runs ferrule with the arguments to its end, and gives both outputs.
func command(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, complaint bytes.Buffer
	c := exec.CommandContext(t.Context(), plane.Binary(t), args...)
	c.Stdout, c.Stderr = &out, &complaint
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	err = c.Run()
	return strings.TrimSpace(out.String()), strings.TrimSpace(complaint.String()), err
}

// must is command where nothing may go wrong.
func must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := command(t, args...)
	if err != nil {
		t.Fatalf("ferrule %s: %v: %s", strings.Join(args, " "), err, stderr)
	}
	return stdout
}

// refused is command that must fail, with these words.
func refused(t *testing.T, words string, args ...string) {
	t.Helper()
	_, stderr, err := command(t, args...)
	if err == nil || !strings.Contains(stderr, words) {
		t.Errorf("ferrule %s: %v, %q; want a refusal with %q", args[0], err, stderr, words)
	}
}

// agent is a site agent as a process of its own.
type agent struct{ *plane.Process }

// joinSite makes an agent of the site, which has joined and does not run yet.
// Its address stays the same over restarts, as machines need it.
func (r *rig) joinSite(site string, flags ...string) *agent {
	r.t.Helper()
	ports, err := plane.FreePorts(1)
	if err != nil {
		r.t.Fatal(err)
	}
	dir := r.t.TempDir()
	code := must(r.t, "join-code", "--site", site, "--lifetime", "5m", "--endpoint", r.URL)
	must(r.t, "agent", "join", "--data", filepath.Join(dir, "agent"), code)
	args := []string{"agent", "run", "--data", filepath.Join(dir, "agent"), "--open-networks", "127.0.0.0/8", "--listen", fmt.Sprintf("127.0.0.1:%d", ports[0])}
	return &agent{plane.NewProcess(r.t, dir, append(args, flags...))}
}

// conductor is the entry of the site in /v1/conductors, nil for none.
func (r *rig) conductor(site string) map[string]any {
	r.t.Helper()
	list, _ := r.Must(http.MethodGet, "/v1/conductors", nil)["conductors"].([]any)
	for _, entry := range list {
		if c, ok := entry.(map[string]any); ok && c["conductor_group"] == site {
			return c
		}
	}
	return nil
}

func (r *rig) awaitAlive(site string, alive bool) {
	r.t.Helper()
	until(r.t, "the site's agent to show as a conductor", func() bool {
		c := r.conductor(site)
		return c != nil && c["alive"] == alive
	})
}

func TestASecondSiteServesItsNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{Servers: 2})
	lisbon := r.joinSite("Lisbon")
	lisbon.Launch()
	r.awaitAlive("lisbon", true)
	node := r.enrol(r.server(0), map[string]any{"conductor_group": "Lisbon"})
	r.live(node)
	if text, err := os.ReadFile(lisbon.Log); err != nil || !strings.Contains(string(text), node) {
		t.Errorf("the agent of the site did nothing for the node: %v", err)
	}
	if text, err := os.ReadFile(r.Log); err != nil || strings.Contains(string(text), "command done") {
		t.Errorf("the embedded agent did something for a node of the other site: %v", err)
	}
	shown := r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
	if shown["conductor"] != r.conductor("lisbon")["hostname"] || shown["conductor_group"] != "lisbon" {
		t.Errorf("the node is of conductor %v, group %v", shown["conductor"], shown["conductor_group"])
	}

	other := r.enrol(r.server(1), map[string]any{"conductor_group": "lisbon"})
	lisbon.Kill()
	r.awaitAlive("lisbon", false)
	r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
	r.Must(http.MethodGet, "/v1/nodes/detail", nil)
	r.patch(node, "/extra/while", "away")
	r.Must(http.MethodDelete, "/v1/nodes/"+other, nil)

	lisbon.Launch()
	r.awaitAlive("lisbon", true)
	r.verb(node, "manage", "manageable", nil)
	r.Must(http.MethodDelete, "/v1/nodes/"+node, nil)
}

func TestTheAgentAloneServesASite(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs programs")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{})
	dir := t.TempDir()
	program := filepath.Join(dir, "ferrule-agent")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "ferrule/cmd/ferrule-agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	code := must(t, "join-code", "--site", "porto", "--endpoint", r.URL)
	join := exec.CommandContext(t.Context(), program, "join", "--data", filepath.Join(dir, "agent"), "-")
	join.Stdin = strings.NewReader(code + "\n")
	if output, err := join.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var log bytes.Buffer
	run := exec.CommandContext(t.Context(), program, "run", "--data", filepath.Join(dir, "agent"), "--listen", "127.0.0.1:0",
		"--open-networks", "127.0.0.0/8") // the lab is all on loopback
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	run.WaitDelay = 20 * time.Second
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := run.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := run.Wait(); err != nil {
			t.Errorf("ferrule-agent: %v\n%s", err, log.String())
		}
	}()
	r.awaitAlive("porto", true)
	node := r.enrol(r.server(0), map[string]any{"conductor_group": "porto"})
	r.live(node)
}

func TestJoinCodesLetIntoTheirSiteOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{})
	dir := t.TempDir()
	code := must(t, "join-code", "--site", "lisbon", "--endpoint", r.URL)
	must(t, "agent", "join", "--data", filepath.Join(dir, "first"), code)
	refused(t, "used before", "agent", "join", "--data", filepath.Join(dir, "second"), code)
	refused(t, "already holds", "agent", "join", "--data", filepath.Join(dir, "first"), code)

	short := must(t, "join-code", "--site", "lisbon", "--lifetime", "1s", "--endpoint", r.URL)
	expiry := time.Unix(int64(inside(t, short)["e"].(float64)), 0)
	until(t, "the code to expire", func() bool { return time.Now().After(expiry) })
	refused(t, "expired", "agent", "join", "--data", filepath.Join(dir, "late"), short)
	// One that denies its end is refused by the control plane.
	refused(t, "expired", "agent", "join", "--data", filepath.Join(dir, "later"), altered(t, short, "e", time.Now().Add(time.Hour).Unix()))

	other := must(t, "join-code", "--endpoint", r.URL)
	elsewhere := altered(t, other, "f", bytes.Repeat([]byte{7}, 32))
	refused(t, "another fingerprint", "agent", "join", "--data", filepath.Join(dir, "third"), elsewhere)
	must(t, "agent", "join", "--data", filepath.Join(dir, "third"), other)

	list := must(t, "agents", "list", "--endpoint", r.URL)
	if n := strings.Count(list, "\n"); n != 3 { // the embedded one, and two that joined, below a head
		t.Errorf("the agents are:\n%s", list)
	}
	sites := must(t, "site", "list", "--endpoint", r.URL)
	if !strings.Contains(sites, "lisbon") || strings.Count(sites, "\n") != 2 {
		t.Errorf("the sites are:\n%s", sites)
	}
}

func TestARemovedAgentIsOut(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{})
	lisbon := r.joinSite("lisbon")
	lisbon.Launch()
	r.awaitAlive("lisbon", true)
	server := r.server(0)
	node := r.enrol(server, map[string]any{"conductor_group": "lisbon"})
	setFaults(t, server, redfish.Faults{Hang: true})
	r.Provision(node, "manage", nil)
	until(t, "the BMC to be asked", func() bool { return len(server.BMC.Observed().Requests) > 0 })

	id := idOf(t, r, "lisbon")
	must(t, "agents", "remove", id, "--endpoint", r.URL)
	failed := r.rested(node)
	if said, _ := failed["last_error"].(string); failed["provision_state"] != "enroll" || !strings.Contains(said, "no site agent serves") {
		t.Errorf("what the removed agent was doing ends in %v: %s", failed["provision_state"], said)
	}
	setFaults(t, server, redfish.Faults{})
	select {
	case <-lisbon.Ended():
	case <-time.After(patience):
		t.Fatal("the removed agent runs on")
	}
	if r.conductor("lisbon") != nil {
		t.Error("the removed agent is still a conductor")
	}
	refused(t, "removed", "agents", "remove", id, "--endpoint", r.URL)
	if list := must(t, "agents", "list", "--endpoint", r.URL); strings.Contains(list, id) {
		t.Errorf("the removed agent is listed:\n%s", list)
	}
	if list := must(t, "agents", "list", "--all", "--endpoint", r.URL); !strings.Contains(list, "removed") {
		t.Errorf("the removed agent is not in the list of all:\n%s", list)
	}
	lisbon.Launch()
	select {
	case <-lisbon.Ended():
	case <-time.After(patience):
		t.Fatal("the removed agent is let in again")
	}
	answer := r.Call(http.MethodPut, "/v1/nodes/"+node+"/states/provision", map[string]any{"target": "provide"})
	if answer.Status/100 == 2 {
		t.Errorf("a verb for a site without agents is accepted: %d", answer.Status)
	}
	r.Must(http.MethodDelete, "/v1/nodes/"+node, nil)
}

func TestAFerruleOutlivesItsEmbeddedAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	p := plane.Start(t, plane.Options{})
	id := idOf(t, &rig{Plane: p}, "-")
	must(t, "agents", "remove", id, "--endpoint", p.URL)
	until(t, "the word on how to have one again", func() bool {
		text, err := os.ReadFile(p.Log)
		return err == nil && strings.Contains(string(text), "delete the agent's folder")
	})
	p.Must(http.MethodGet, "/v1/nodes", nil)
	p.Stop()
	if err := os.RemoveAll(filepath.Join(p.DataDir, "agent")); err != nil {
		t.Fatal(err)
	}
	p.Restart()
	if list := must(t, "agents", "list", "--endpoint", p.URL); !strings.Contains(list, "on line") || strings.Contains(list, id) {
		t.Errorf("the agents are:\n%s", list)
	}
}

// idOf is the agent on line at a site.
func idOf(t *testing.T, r *rig, site string) string {
	t.Helper()
	for line := range strings.Lines(must(t, "agents", "list", "--endpoint", r.URL)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == site {
			return f[0]
		}
	}
	t.Fatalf("site %s has no agent", site)
	return ""
}
