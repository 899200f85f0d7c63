package sushy_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"ferrule/compat-tests/plane"
	"ferrule/drivers"
	"ferrule/lab/image"
	"ferrule/metal"
)

// conf watches the power closely, so that the test need not wait long.
const conf = `[conductor]
sync_power_state_interval = 2
`

// node is the name of the node in each test.
const node = "sushy"

// start starts an emulator at the address, and a Ferrule with a node for its
// system. amiss goes over the right driver_info.
func start(t *testing.T, host string, amiss map[string]any) (*bmc, *plane.Plane) {
	t.Helper()
	b := startBMC(t, host)
	p := plane.Start(t, plane.Options{Config: conf})
	images, err := image.Serve(host + ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := images.Close(); err != nil {
			t.Error(err)
		}
	})
	info := map[string]any{
		"redfish_address": b.address, "redfish_system_id": systemID, "redfish_username": b.username,
		"redfish_password": b.password, "redfish_tls_spki_sha256": b.spki,
		"deploy_kernel": images.URL("kernel"), "deploy_ramdisk": images.URL("ramdisk"),
	}
	maps.Copy(info, amiss)
	p.Must(http.MethodPost, "/v1/nodes", map[string]any{
		"name": node, "driver": "redfish", "inspect_interface": "agent", "driver_info": info,
	})
	p.Provision(node, "manage", nil)
	return b, p
}

// startManaged starts them and awaits that the node is manageable.
func startManaged(t *testing.T, host string) (*bmc, *plane.Plane) {
	t.Helper()
	b, p := start(t, host, nil)
	if found := p.AwaitState(node, "manageable", powerDelay); found["power_state"] != "power off" {
		t.Errorf("power is %v", found["power_state"])
	}
	return b, p
}

// awaitPower waits until the node shows the power, and its BMC has it.
func awaitPower(t *testing.T, b *bmc, p *plane.Plane, want string) {
	t.Helper()
	p.Await(node, want, 2*powerDelay, func(found map[string]any) bool {
		return found["power_state"] == want && found["target_power_state"] == nil
	})
	if there := b.power(); !strings.EqualFold(fmt.Sprintf("power %v", there), want) {
		t.Errorf("the node shows %s, its BMC %v", want, there)
	}
}

func TestPowerAndBootDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two programs, and a change of power takes up to eleven seconds")
	}
	t.Parallel()
	b, p := startManaged(t, "127.0.92.1")
	path := "/v1/nodes/" + node
	for device, target := range map[string]string{"pxe": "Pxe", "cdrom": "Cd", "disk": "Hdd"} {
		body := map[string]any{"boot_device": device, "persistent": true}
		p.Must(http.MethodPut, path+"/management/boot_device", body)
		if kept := p.Must(http.MethodGet, path+"/management/boot_device", nil); fmt.Sprint(kept) != fmt.Sprint(body) {
			t.Errorf("set %v, got %v", body, kept)
		}
		if boot, _ := b.get(systemID)["Boot"].(map[string]any); boot["BootSourceOverrideTarget"] != target {
			t.Errorf("%s: the BMC has %v", device, boot)
		}
	}
	supported, _ := p.Must(http.MethodGet, path+"/management/boot_device/supported", nil)["supported_boot_devices"].([]any)
	for _, device := range []any{"pxe", "disk", "cdrom"} {
		if !slices.Contains(supported, device) {
			t.Errorf("%v is not among the supported devices %v", device, supported)
		}
	}
	set := func(target string) {
		t.Helper()
		p.Must(http.MethodPut, path+"/states/power", map[string]any{"target": target, "timeout": int(powerDelay.Seconds())})
	}
	set("power on")
	awaitPower(t, b, p, "power on")
	set("rebooting")
	awaitPower(t, b, p, "power on")
	// Somebody takes the power away past Ferrule.
	b.ask(http.MethodPost, systemID+"/Actions/ComputerSystem.Reset", map[string]any{"ResetType": "ForceOff"})
	awaitPower(t, b, p, "power off")
}

// An inspection begins: the BMC is given a medium, told to
// boot from it, and switched on. What the machine does then is not emulated.
func TestBootByVirtualMedia(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two programs, and a change of power takes up to eleven seconds")
	}
	t.Parallel()
	b, p := startManaged(t, "127.0.92.2")
	p.Provision(node, "inspect", nil)
	p.Await(node, "inspect wait", 2*powerDelay, func(n map[string]any) bool {
		return n["provision_state"] == "inspect wait" && b.power() == "On"
	})
	medium := b.medium()
	if url, _ := medium["Image"].(string); medium["Inserted"] != true || !strings.HasPrefix(url, "http") {
		t.Errorf("the medium is %v", medium)
	}
	boot, _ := b.get(systemID)["Boot"].(map[string]any)
	if boot["BootSourceOverrideTarget"] != "Cd" {
		t.Errorf("the system boots from %v", boot)
	}
	p.Provision(node, "abort", nil)
	p.Await(node, "inspect failed", 2*powerDelay, func(n map[string]any) bool {
		return n["provision_state"] == "inspect failed" && n["reservation"] == nil
	})
	awaitPower(t, b, p, "power off")
	if medium := b.medium(); medium["Inserted"] != false {
		t.Errorf("after the abort the medium is %v", medium)
	}
}

// The driver is asked as the site agent does.
func TestVirtualMedia(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a program that takes seconds to do so")
	}
	t.Parallel()
	b := startBMC(t, "127.0.92.3")
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no real image") }))
	defer served.Close()
	registry := drivers.New(drivers.Config{})
	defer func() {
		if err := registry.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	options, err := json.Marshal(map[string]string{"redfish_system_id": systemID})
	if err != nil {
		t.Fatal(err)
	}
	do := func(op metal.Operation, args any) metal.MediaStatus {
		t.Helper()
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		result := registry.Execute(t.Context(), metal.Request{
			Driver: "redfish", Address: b.address, Operation: op, ArgsJSON: raw, TLSSPKISHA256: b.spki, DriverOptionsJSON: options,
		}, drivers.Credentials{Username: b.username, Password: b.password})
		if !result.OK {
			t.Fatalf("%s: %s: %s", op, result.ErrorCode, result.Message)
		}
		var status metal.MediaStatus
		if err := json.Unmarshal(result.ResultJSON, &status); err != nil {
			t.Fatal(err)
		}
		return status
	}
	empty := do(metal.VirtualMediaStatus, struct{}{})
	if len(empty.Devices) != 2 || slices.ContainsFunc(empty.Devices, inserted) {
		t.Errorf("at the start: %+v", empty)
	}
	url := served.URL + "/boot.iso"
	for range 2 { // the second time the first has to make room
		full := do(metal.VirtualMediaInsert, metal.InsertMediaArgs{Device: "cdrom", ImageURL: url})
		if i := slices.IndexFunc(full.Devices, inserted); i < 0 || full.Devices[i].Image != url {
			t.Errorf("inserted: %+v", full)
		}
	}
	if medium := b.medium(); medium["Inserted"] != true || medium["Image"] != url {
		t.Errorf("the BMC has %v", medium)
	}
	for range 2 { // ejecting nothing is no error
		if left := do(metal.VirtualMediaEject, metal.EjectMediaArgs{}); slices.ContainsFunc(left.Devices, inserted) {
			t.Errorf("after ejecting: %+v", left)
		}
	}
	if medium := b.medium(); medium["Inserted"] != false {
		t.Errorf("the BMC has %v", medium)
	}
}

func inserted(d metal.MediaDevice) bool { return d.Inserted }

func TestABMCThatCannotBeTrusted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs that take seconds to do so")
	}
	t.Parallel()
	for what, amiss := range map[string]map[string]any{
		"password": {"redfish_password": rand.Text()},
		"key":      {"redfish_tls_spki_sha256": strings.Repeat("0", 64)},
	} {
		t.Run(what, func(t *testing.T) {
			b, p := start(t, "127.0.92.4", amiss)
			n := p.Await(node, "the refusal", powerDelay, func(n map[string]any) bool {
				return n["provision_state"] == "enroll" && n["last_error"] != nil
			})
			told := fmt.Sprint(n["last_error"])
			if !strings.Contains(told, b.host) || !strings.Contains(told, what) {
				t.Errorf("the operator is told: %s", told)
			}
		})
	}
}
