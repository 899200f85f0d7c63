package ipa_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/image"
	"ferrule/lab/iso"
)

// The real agent stands in for the ramdisk of an emulated server, whose own
// does not start: the medium that it boots names no API.
func TestTheAgentIsCleanedAndDeployed(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program, and starts the agent")
	}
	t.Parallel()
	server, images := idleServer(t)
	p := plane.Start(t, plane.Options{Config: conf})
	uuid, address := enrolServer(t, p, server, images.URL("idle.iso"))

	p.Provision("served", "provide", nil)
	p.AwaitState("served", "clean wait", patience)
	a := serve(t, p, uuid, address)
	beatUntil(t, p, a, "available")
	told := a.do("commands", nil)
	want := fmt.Sprintf("[map[node:%[1]v ports:[%[2]s] step:first] map[node:%[1]v ports:[%[2]s] step:second]]", uuid, address)
	if fmt.Sprint(told["done"]) != want {
		t.Errorf("the steps done are %v, wanted %s", told["done"], want)
	}
	checkSucceeded(t, told, "get_clean_steps", "execute_clean_step", "execute_clean_step")
	if _, failed := a.ask("heartbeat", nil); failed == "" {
		t.Error("the heartbeat of an agent that is done with is taken")
	}

	content := []byte("no real image")
	url := images.Add("disk.raw", content)
	p.Must(http.MethodPatch, "/v1/nodes/served", []object{{"op": "add", "path": "/instance_info", "value": object{
		"image_source": url, "image_os_hash_algo": "sha256", "image_os_hash_value": image.SHA256(content), "image_disk_format": "raw",
	}}})
	p.Provision("served", "active", object{"configdrive": object{"meta_data": object{"hostname": "served"}}})
	p.AwaitState("served", "wait call-back", patience)
	a = serve(t, p, uuid, address) // another boot: the agent has forgotten all
	beatUntil(t, p, a, "active")
	checkDeployed(t, a.do("commands", nil), url, image.SHA256(content), uuid)
}

// enrolServer makes a manageable node of the server, which boots the medium.
func enrolServer(t *testing.T, p *plane.Plane, server *lab.Server, medium string) (uuid, mac string) {
	t.Helper()
	identity := server.Identity()
	user, password := server.Credentials()
	node := p.Must(http.MethodPost, "/v1/nodes", object{
		"name": "served", "driver": "redfish", "deploy_interface": "direct", "inspect_interface": "agent",
		"driver_info": object{
			"redfish_address": identity.RedfishAddress, "redfish_system_id": identity.SystemID, "redfish_username": user,
			"redfish_password": password, "redfish_tls_spki_sha256": identity.SPKISHA256, "deploy_iso": medium,
		},
	})
	mac = identity.NICs[0].MAC
	p.Must(http.MethodPost, "/v1/ports", object{"node_uuid": node["uuid"], "address": mac})
	p.Provision("served", "manage", nil)
	p.AwaitState("served", "manageable", patience)
	return fmt.Sprint(node["uuid"]), mac
}

// serve starts an agent that has looked itself up and serves commands.
func serve(t *testing.T, p *plane.Plane, uuid, mac string) *agent {
	t.Helper()
	a := newAgent(t, p.URL, mac)
	firstLookup(t, a, uuid)
	dir := t.TempDir()
	a.do("serve", object{"certificate": filepath.Join(dir, "agent.crt"), "key": filepath.Join(dir, "agent.key")})
	return a
}

// checkSucceeded wants these commands, in order, each a success.
func checkSucceeded(t *testing.T, told object, names ...string) {
	t.Helper()
	commands, _ := told["commands"].([]any)
	var ran []string
	for _, c := range commands {
		command, _ := c.(object)
		ran = append(ran, fmt.Sprint(command["command_name"]))
		if command["command_status"] != "SUCCEEDED" {
			t.Errorf("a command came to %v", command)
		}
	}
	if !slices.Equal(ran, names) {
		t.Errorf("the agent was sent %v, wanted %v", ran, names)
	}
}

func checkDeployed(t *testing.T, told object, url, sum, uuid string) {
	t.Helper()
	checkSucceeded(t, told, "get_deploy_steps", "execute_deploy_step", "get_partition_uuids", "install_bootloader", "sync", "power_off")
	done, _ := told["done"].([]any)
	if len(done) != 3 {
		t.Fatalf("the steps done are %v", done)
	}
	written, _ := done[0].(object)
	info, _ := written["image_info"].(object)
	want := object{
		"os_hash_algo": "sha256", "os_hash_value": sum, "disk_format": "raw", "node_uuid": uuid, "stream_raw_images": true,
		"id": "disk.raw",
	}
	for field, value := range want {
		if info[field] != value {
			t.Errorf("image_info has %s %v, wanted %v", field, info[field], value)
		}
	}
	if fmt.Sprint(info["urls"]) != "["+url+"]" {
		t.Errorf("the image is at %v", info["urls"])
	}
	if drive, _ := written["configdrive"].(string); !isCompressed(drive) {
		t.Errorf("the config drive is no base64 of gzip: %.40q", drive)
	}
	if loader, _ := done[1].(object); loader["step"] != "install_bootloader" || loader["mode"] != "uefi" {
		t.Errorf("the boot loader is asked for as %v", loader)
	}
}

func isCompressed(drive string) bool {
	content, err := base64.StdEncoding.DecodeString(drive)
	if err != nil {
		return false
	}
	_, err = gzip.NewReader(bytes.NewReader(content))
	return err == nil
}

// idleServer is an emulated server, and images with a medium, idle.iso, whose
// ramdisk does nothing.
func idleServer(t *testing.T) (*lab.Server, *image.Server) {
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
	images.Add("idle.iso", content)
	return servers.Servers()[0], images
}

// beatUntil sends heartbeats as the agent does, only more often, until the node
// is in the state.
func beatUntil(t *testing.T, p *plane.Plane, a *agent, state string) {
	t.Helper()
	beat := time.NewTicker(300 * time.Millisecond)
	defer beat.Stop()
	for late := time.After(2 * patience); ; {
		// A refusal is in order when the node has just been locked, or is done.
		_, refused := a.ask("heartbeat", nil)
		n := p.Must(http.MethodGet, "/v1/nodes/served", nil)
		switch {
		case n["provision_state"] == state:
			return
		case n["last_error"] != nil:
			t.Fatalf("the node is %v: %v", n["provision_state"], n["last_error"])
		}
		select {
		case <-beat.C:
		case <-late:
			t.Fatalf("the node is still %v; the last heartbeat: %s", n["provision_state"], refused)
		}
	}
}
