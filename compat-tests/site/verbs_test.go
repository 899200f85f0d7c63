package site_test

import (
	"net/http"
	"strings"
	"testing"

	"ferrule/compat-tests/plane"
	"ferrule/lab"
)

// TestWhatIsDoneToADeployedServer takes an instance through rescue and
// servicing, both in a ramdisk, and back to its own system each time.
func TestWhatIsDoneToADeployedServer(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{})
	s := r.server(0)
	node := r.enrol(s, map[string]any{"rescue_interface": "agent"})
	r.patch(node, "/driver_info/rescue_kernel", r.images.URL("kernel"))
	r.patch(node, "/driver_info/rescue_ramdisk", r.images.URL("ramdisk"))
	r.prepare(node)
	r.verb(node, "active", "active", nil)

	r.verb(node, "rescue", "rescue", map[string]any{"rescue_password": "obviously-fake"})
	n := r.Must(http.MethodGet, "/v1/nodes/"+node, nil)
	if info, _ := n["instance_info"].(map[string]any); info["rescue_password"] != nil || info["hashed_rescue_password"] != nil {
		t.Errorf("the rescue password outlives its use: %v", info)
	}
	r.verb(node, "unrescue", "active", nil)

	r.verb(node, "service", "active", map[string]any{"service_steps": []map[string]any{
		{"interface": "deploy", "step": "burnin_cpu"}, {"interface": "power", "step": "reboot"}, {"interface": "deploy", "step": "burnin_memory"},
	}})
	awaitStep(t, s, "burnin_cpu")
	awaitStep(t, s, "burnin_memory")
	if n := r.Must(http.MethodGet, "/v1/nodes/"+node, nil); n["power_state"] != "power on" || n["last_error"] != nil {
		t.Errorf("after its service the node is %v, last_error %v", n["power_state"], n["last_error"])
	}
	r.verb(node, "deleted", "available", nil)
}

// TestTheHardwareIsToldAtOnce goes over what is done to a BMC outside of verbs.
func TestTheHardwareIsToldAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	r := start(t, plane.Options{}, lab.Config{})
	node := r.enrol(r.server(0), nil)
	r.verb(node, "manage", "manageable", nil)
	path := "/v1/nodes/" + node
	told := func(field string, want any) {
		t.Helper()
		r.Await(node, field, patience, func(n map[string]any) bool { return n[field] == want && n["reservation"] == nil })
	}
	r.Must(http.MethodPut, path+"/states/boot_mode", map[string]any{"target": "bios"})
	told("boot_mode", "bios")
	r.Must(http.MethodPut, path+"/states/boot_mode", map[string]any{"target": "uefi"})
	told("boot_mode", "uefi")
	r.Must(http.MethodPut, path+"/states/secure_boot", map[string]any{"target": true})
	told("secure_boot", true)
	r.Must(http.MethodPut, path+"/management/inject_nmi", nil)

	r.images.Add("tools.iso", []byte("no real image"))
	r.Must(http.MethodPost, path+"/vmedia", map[string]any{"device_type": "cdrom", "image_url": r.images.URL("tools.iso")})
	until(t, "the medium to be in", func() bool {
		return strings.Contains(r.Call(http.MethodGet, path+"/vmedia", nil).Text, `"inserted":true`)
	})
	r.Must(http.MethodDelete, path+"/vmedia", nil)
	until(t, "the medium to be out", func() bool {
		return !strings.Contains(r.Call(http.MethodGet, path+"/vmedia", nil).Text, `"inserted":true`)
	})

	list := r.Must(http.MethodGet, path+"/management/indicators", nil)["indicators"].([]any)
	if len(list) == 0 {
		t.Fatal("the server shows no indicator")
	}
	led := path + "/management/indicators/" + list[0].(map[string]any)["name"].(string)
	r.Must(http.MethodPut, led, map[string]any{"state": "blinking"})
	if got := r.Must(http.MethodGet, led, nil)["state"]; got != "blinking" {
		t.Errorf("the indicator shows %v", got)
	}
}
