package lab_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/image"
	"ferrule/lab/iso"
	"ferrule/lab/machine"
	"ferrule/lab/ramdisk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is the ramdisk's timing for tests.
func quick() ramdisk.Timing {
	return ramdisk.Timing{HeartbeatDistance: time.Millisecond, RetryAfterError: 10 * time.Millisecond, LookupTimeout: 10 * time.Second}
}

// start runs a lab whose first server the test uses.
func start(t *testing.T, cfg lab.Config) (*lab.Lab, *lab.Server) {
	t.Helper()
	cfg.Dir = t.TempDir()
	if cfg.Timing == (ramdisk.Timing{}) {
		cfg.Timing = quick()
	}
	l, err := lab.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, l.Servers()[0]
}

// await waits for an event from the start on.
func await(t *testing.T, s *lab.Server, kind event.Kind, details ...string) event.Event {
	t.Helper()
	return awaitAfter(t, s, 0, kind, details...)
}

func awaitAfter(t *testing.T, s *lab.Server, seq uint64, kind event.Kind, details ...string) event.Event {
	t.Helper()
	ctx := t.Context()
	done := make(chan struct{})
	defer close(done)
	timer := time.AfterFunc(20*time.Second, func() {
		select {
		case <-done:
		default:
			events, _ := s.Events.Since(0)
			t.Errorf("no %s %v among %v", kind, details, events)
			s.Events.Add(kind, details...)
		}
	})
	defer timer.Stop()
	e, err := s.Wait(ctx, seq, event.Is(kind, details...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func configDrive(t *testing.T, uuid string) string {
	t.Helper()
	volume, err := iso.Build("config-2", map[string][]byte{
		"openstack/latest/meta_data.json": []byte(`{"uuid":"` + uuid + `","name":"n"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(volume); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(zipped.Bytes())
}

func imageInfo(url, format string, content []byte) map[string]any {
	return map[string]any{
		"id": "image", "urls": []string{url}, "disk_format": format, "container_format": "bare", "stream_raw_images": true,
		"os_hash_algo": "sha256", "os_hash_value": image.SHA256(content), "node_uuid": nodeUUID,
	}
}

// TestLife takes one server through inspection, cleaning, deployment and its
// first boot.
func TestLife(t *testing.T) {
	for _, format := range []string{"raw", "qcow2"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			_, s := start(t, lab.Config{DiskSize: 96 << 20})
			bmc := newConsole(t, s)
			inspectServer(t, p, s, bmc)
			cleanServer(t, p, s, bmc)
			deployServer(t, p, s, bmc, format)
		})
	}
}

func inspectServer(t *testing.T, p *plane, s *lab.Server, bmc *console) {
	bmc.bootMedium(p.iso("ipa-inspection-callback-url="+p.URL+"/v1/continue_inspection boot_method=vmedia", nil))
	await(t, s, event.Inspected, "node", nodeUUID)
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.versions["inspection"]; v != "" {
		t.Errorf("the inventory was posted with version %q, want none", v)
	}
	if p.heartbeats != 0 {
		t.Error("a ramdisk without an API address sent heartbeats")
	}
	inventory := p.inspection["inventory"].(map[string]any)
	nic := inventory["interfaces"].([]any)[0].(map[string]any)
	if nic["mac_address"] != s.Identity().NICs[0].MAC {
		t.Errorf("inventory's first MAC %v, the server has %v", nic["mac_address"], s.Identity().NICs)
	}
	disk := inventory["disks"].([]any)[0].(map[string]any)
	if int64(disk["size"].(float64)) != s.Identity().DiskBytes {
		t.Errorf("inventory's disk %v", disk)
	}
	if e, given := p.inspection["error"]; !given || e != nil {
		t.Errorf("plugin data's error: %v, given %v", e, given)
	}
}

func cleanServer(t *testing.T, p *plane, s *lab.Server, bmc *console) {
	bmc.bootMedium(p.bootISO())
	p.await("a heartbeat", func() bool { return p.heartbeats > 0 })
	a := p.agent()
	if !strings.HasPrefix(a.url, "https://") {
		t.Errorf("the agent serves %s, want https by default", a.url)
	}
	steps := a.succeed("clean.get_clean_steps", map[string]any{"node": map[string]any{"uuid": nodeUUID}, "ports": []any{}})
	if len(steps.Result["clean_steps"].(map[string]any)["GenericHardwareManager"].([]any)) == 0 {
		t.Errorf("no clean steps: %v", steps.Result)
	}
	p.mu.Lock()
	before := p.heartbeats
	p.mu.Unlock()
	cleaned := a.succeed("clean.execute_clean_step", step("erase_devices_metadata", nil))
	if cleaned.Name != "execute_clean_step" || cleaned.Result["clean_step"] == nil {
		t.Errorf("result of the step: %+v", cleaned)
	}
	p.await("the heartbeat of the step's end", func() bool { return p.heartbeats > before })
	bmc.reset("ForceOff")
	if p.versions["lookup"] != "1.62" || p.versions["heartbeat"] != "1.68" {
		t.Errorf("versions used: %v", p.versions)
	}
	if snap := s.Snapshot(); snap.Power != machine.Off || snap.System != machine.NoSystem {
		t.Errorf("after force off: %s, %q", snap.Power, snap.System)
	}
}

func deployServer(t *testing.T, p *plane, s *lab.Server, bmc *console, format string) {
	raw, err := image.GPT(11)
	if err != nil {
		t.Fatal(err)
	}
	content := raw
	if format == "qcow2" {
		content = image.Qcow2(raw)
	}
	source := p.publish("disk-image", content)
	p.mu.Lock()
	p.heartbeats = 0
	p.mu.Unlock()
	bmc.bootMedium(p.bootISO())
	p.await("a heartbeat", func() bool { return p.heartbeats > 0 })
	a := p.agent()
	args := map[string]any{"image_info": imageInfo(source, format, content), "configdrive": configDrive(t, nodeUUID)}
	a.succeed("deploy.execute_deploy_step", step("write_image", args))
	if id, _ := a.succeed("standby.get_partition_uuids", map[string]any{}).Result["root uuid"].(string); id == "" {
		t.Error("no disk identifier after the image was written")
	}
	a.succeed("image.install_bootloader", map[string]any{"root_uuid": "x", "target_boot_mode": "uefi"})
	seq := s.Events.Last()
	a.succeed("standby.power_off", map[string]any{})
	awaitAfter(t, s, seq, event.PowerChanged, "power", "Off")
	bmc.eject()
	bmc.bootFrom("Hdd", "Continuous")
	bmc.reset("On")
	awaitAfter(t, s, seq, event.Booted)
	snap := s.Snapshot()
	if !snap.LastBoot.Booted || snap.System != machine.Instance || snap.Image.SHA256 != image.SHA256(raw) {
		t.Errorf("after the deployment: %+v", snap.Snapshot)
	}
	if !strings.Contains(snap.ConfigDrive["openstack/latest/meta_data.json"], nodeUUID) {
		t.Errorf("config drive: %v", snap.ConfigDrive)
	}
}
