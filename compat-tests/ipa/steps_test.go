package ipa_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/image"
	"ferrule/lab/iso"
)

// The real agent stands in for the ramdisk of an emulated server, whose own
// does not start: the medium that it boots names no API.
func TestTheAgentIsCleaned(t *testing.T) {
	if testing.Short() {
		return // builds the program, and starts the agent
	}
	t.Parallel()
	server, medium := idleServer(t)
	p := plane.Start(t, plane.Options{Config: conf})
	identity := server.Identity()
	user, password := server.Credentials()
	node := p.Must(http.MethodPost, "/v1/nodes", object{
		"name": "cleaned", "driver": "redfish", "deploy_interface": "direct", "inspect_interface": "agent",
		"driver_info": object{
			"redfish_address": identity.RedfishAddress, "redfish_system_id": identity.SystemID, "redfish_username": user,
			"redfish_password": password, "redfish_tls_spki_sha256": identity.SPKISHA256, "deploy_iso": medium,
		},
	})
	address := identity.NICs[0].MAC
	p.Must(http.MethodPost, "/v1/ports", object{"node_uuid": node["uuid"], "address": address})
	p.Provision("cleaned", "manage", nil)
	p.AwaitState("cleaned", "manageable", patience)
	p.Provision("cleaned", "provide", nil)
	p.AwaitState("cleaned", "clean wait", patience)

	a := newAgent(t, p.URL, address)
	firstLookup(t, a, fmt.Sprint(node["uuid"]))
	dir := t.TempDir()
	a.do("serve", object{"certificate": filepath.Join(dir, "agent.crt"), "key": filepath.Join(dir, "agent.key")})
	beatUntilCleaned(t, p, a)

	told := a.do("commands", nil)
	want := fmt.Sprintf("[map[node:%[1]v ports:[%[2]s] step:first] map[node:%[1]v ports:[%[2]s] step:second]]", node["uuid"], address)
	if fmt.Sprint(told["done"]) != want {
		t.Errorf("the steps done are %v, wanted %s", told["done"], want)
	}
	commands, _ := told["commands"].([]any)
	for _, c := range commands {
		if c.(object)["command_status"] != "SUCCEEDED" {
			t.Errorf("a command came to %v", c)
		}
	}
	if len(commands) != 3 {
		t.Errorf("%d commands ran: %v", len(commands), commands)
	}
	if _, failed := a.ask("heartbeat", nil); failed == "" {
		t.Error("the heartbeat of an agent that is done with is taken")
	}
}

// idleServer is an emulated server, and a medium whose ramdisk does nothing.
func idleServer(t *testing.T) (server *lab.Server, medium string) {
	t.Helper()
	servers, err := lab.New(lab.Config{Dir: t.TempDir(), BMCBase: "127.0.94.1", MachineBase: "127.0.95.1", DiskSize: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	images, err := image.Serve("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := images.Close(); err != nil {
			t.Error(err)
		}
	})
	content, err := iso.BootISO("quiet", nil)
	if err != nil {
		t.Fatal(err)
	}
	return servers.Servers()[0], images.Add("idle.iso", content)
}

// beatUntilCleaned sends heartbeats as the agent does, only more often, until
// the node is available.
func beatUntilCleaned(t *testing.T, p *plane.Plane, a *agent) {
	t.Helper()
	beat := time.NewTicker(300 * time.Millisecond)
	defer beat.Stop()
	for late := time.After(2 * patience); ; {
		// A refusal is in order when the node has just been locked, or is done.
		_, refused := a.ask("heartbeat", nil)
		n := p.Must(http.MethodGet, "/v1/nodes/cleaned", nil)
		switch n["provision_state"] {
		case "available":
			return
		case "clean failed":
			t.Fatalf("cleaning failed: %v", n["last_error"])
		}
		select {
		case <-beat.C:
		case <-late:
			t.Fatalf("the node is still %v; the last heartbeat: %s", n["provision_state"], refused)
		}
	}
}
