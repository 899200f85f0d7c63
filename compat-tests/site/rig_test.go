package site_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/image"
	"ferrule/lab/ramdisk"
	"ferrule/lab/redfish"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long one verb may take on a machine that does other work.
const patience = 90 * time.Second

// beat is the least time between two heartbeats of a ramdisk.
const beat = 100 * time.Millisecond

// rig is a ferrule with emulated servers and images beside it.
type rig struct {
	*plane.Plane
	t      *testing.T
	lab    *lab.Lab
	images *image.Server
	disk   []byte // the image that instances get
}

// start runs both until the test ends.
func start(t *testing.T, o plane.Options, servers lab.Config) *rig {
	t.Helper()
	r := emulate(t, servers)
	r.Plane = plane.Start(t, o)
	return r
}

// emulate runs servers and images alone.
func emulate(t *testing.T, servers lab.Config) *rig {
	t.Helper()
	r := &rig{t: t}
	servers.Dir, servers.DiskSize = t.TempDir(), 64<<20
	servers.Timing = ramdisk.Timing{HeartbeatDistance: beat, HeartbeatMost: time.Second, RetryAfterError: beat}
	var err error
	if r.lab, err = lab.New(servers); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.lab.Close)
	if r.images, err = image.Serve("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.images.Close(); err != nil {
			t.Error(err)
		}
	})
	if r.disk, err = image.GPT(1); err != nil {
		t.Fatal(err)
	}
	r.images.Add("disk.raw", r.disk)
	return r
}

// server is the nth server, from 0.
func (r *rig) server(n int) *lab.Server { return r.lab.Servers()[n] }

// driverInfo is what an operator writes of a server.
func (r *rig) driverInfo(s *lab.Server) map[string]any {
	id := s.Identity()
	username, password := s.Credentials()
	info := map[string]any{
		"redfish_address": id.RedfishAddress, "redfish_system_id": id.SystemID,
		"redfish_username": username, "redfish_password": password,
		"deploy_kernel": r.images.URL("kernel"), "deploy_ramdisk": r.images.URL("ramdisk"),
	}
	if id.SPKISHA256 != "" {
		info["redfish_tls_spki_sha256"] = id.SPKISHA256
	}
	return info
}

// enrol makes a node of a server and gives its uuid; more is put in the body.
func (r *rig) enrol(s *lab.Server, more map[string]any) string {
	r.t.Helper()
	body := map[string]any{
		"driver": "redfish", "inspect_interface": "agent", "deploy_interface": "direct", "driver_info": r.driverInfo(s),
	}
	for key, value := range more {
		body[key] = value
	}
	node := r.Must(http.MethodPost, "/v1/nodes", body)
	return node["uuid"].(string)
}

// setImage says what is to be deployed.
func (r *rig) setImage(node string) { r.setImageFrom(node, r.images.URL("disk.raw")) }

func (r *rig) setImageFrom(node, source string) {
	r.t.Helper()
	r.patch(node, "/instance_info", map[string]any{
		"image_source": source, "image_disk_format": "raw",
		"image_os_hash_algo": "sha256", "image_os_hash_value": image.SHA256(r.disk),
	})
}

func (r *rig) patch(node, path string, value any) {
	r.t.Helper()
	r.Must(http.MethodPatch, "/v1/nodes/"+node, []map[string]any{{"op": "add", "path": path, "value": value}})
}

// verb asks for a state and waits until the node is at rest in the one where it
// leads.
func (r *rig) verb(node, target, end string, more map[string]any) map[string]any {
	r.t.Helper()
	r.Provision(node, target, more)
	return r.rest(node, end)
}

// rest waits until the node is in the state and nobody works on it.
func (r *rig) rest(node, state string) map[string]any {
	r.t.Helper()
	return r.Await(node, state+" at rest", patience, func(n map[string]any) bool {
		return n["provision_state"] == state && n["target_provision_state"] == nil && n["reservation"] == nil
	})
}

// rested waits until nobody works on the node and it is in no transient state,
// whatever came of it.
func (r *rig) rested(node string) map[string]any {
	r.t.Helper()
	var n map[string]any
	until(r.t, "the node to be at rest", func() bool {
		n = r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
		return n["target_provision_state"] == nil && n["reservation"] == nil
	})
	return n
}

// awaitStep waits until the ramdisk has been given a step.
func awaitStep(t *testing.T, s *lab.Server, step string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := s.Wait(ctx, 0, event.Is(event.CommandStarted, "step", step)); err != nil {
		t.Fatal(err)
	}
}

func setFaults(t *testing.T, s *lab.Server, f redfish.Faults) {
	t.Helper()
	if err := s.BMC.SetFaults(f); err != nil {
		t.Fatal(err)
	}
}

// prepare takes a node from enroll to available, with its image set.
func (r *rig) prepare(node string) {
	r.t.Helper()
	r.verb(node, "manage", "manageable", nil)
	r.verb(node, "inspect", "manageable", nil)
	r.verb(node, "provide", "available", nil)
	r.setImage(node)
}

// drive is a config drive that a client describes.
func drive(node, userData string) map[string]any {
	return map[string]any{"configdrive": map[string]any{
		"meta_data": map[string]any{"uuid": node, "hostname": "instance"}, "user_data": userData,
	}}
}

// live takes a node through all of its life, once.
func (r *rig) live(node string) {
	r.t.Helper()
	r.prepare(node)
	r.verb(node, "active", "active", drive(node, "#cloud-config\n"))
	r.verb(node, "deleted", "available", nil)
}

// until waits until yes, at most for patience.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	late := time.After(patience)
	for !yes() {
		select {
		case <-late:
			t.Fatalf("waited %s in vain for %s", patience, what)
		case <-look.C:
		}
	}
}
