package lab_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/machine"
)

func TestMediaThatDoNotBootCallNobody(t *testing.T) {
	cases := map[string]func(p *plane) string{
		"empty":   func(p *plane) string { return p.publish("empty.iso", nil) },
		"garbage": func(p *plane) string { return p.publish("garbage.iso", make([]byte, 1<<20)) },
		"no kernel": func(p *plane) string {
			return p.iso("ipa-api-url="+p.URL, map[string][]byte{"vmlinuz": nil})
		},
		"no ramdisk": func(p *plane) string {
			return p.iso("ipa-api-url="+p.URL, map[string][]byte{"initrd": nil})
		},
		"no boot loader": func(p *plane) string {
			return p.iso("ipa-api-url="+p.URL, map[string][]byte{"boot/grub/grub.cfg": []byte("\n")})
		},
	}
	for name, medium := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t)
			_, s := start(t, lab.Config{})
			newConsole(t, s).bootMedium(medium(p))
			e := await(t, s, event.BootFailed, "device", "Cd")
			snap := s.Snapshot()
			if snap.Power != machine.On || snap.System != machine.NoSystem || snap.LastBoot.Reason != e.Detail["reason"] {
				t.Errorf("after a failed boot: %+v", snap.Snapshot)
			}
			if len(p.versions) != 0 {
				t.Errorf("the control plane was called: %v", p.versions)
			}
		})
	}
}

func TestAlteredKernelLineIsFollowed(t *testing.T) {
	p, other := newPlane(t), newPlane(t)
	_, s := start(t, lab.Config{})
	bmc := newConsole(t, s)
	// The medium of one plane names the other's address.
	bmc.bootMedium(p.iso("ipa-api-url="+other.URL+" ipa-agent-token="+other.token, nil))
	other.await("a heartbeat at the address of the line", func() bool { return other.heartbeats > 0 })
	if len(p.versions) != 0 {
		t.Errorf("the address that the line does not name was called: %v", p.versions)
	}
	// A line without an address leads to no call at all.
	bmc.bootMedium(p.iso("text ipa-debug=1", nil))
	seq := s.Events.Last()
	bmc.reset("ForceOff")
	awaitAfter(t, s, seq, event.RamdiskStopped)
	if len(p.versions) != 0 {
		t.Errorf("a line without an address led to calls: %v", p.versions)
	}
}

func TestDiskIsBootedOnlyWhenItHolds(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{DiskSize: 96 << 20})
	bmc := newConsole(t, s)
	bmc.reset("On")
	if e := await(t, s, event.BootFailed); !strings.Contains(e.Detail["reason"], "no image") {
		t.Errorf("blank disk: %v", e)
	}
	bmc.reset("ForceOff")
	deployServer(t, p, s, bmc, "raw")
	bmc.reset("ForceOff")
	f, err := os.OpenFile(s.Machine.Disk().Path(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("spoilt"), 1<<20+4096); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	seq := s.Events.Last()
	bmc.reset("On")
	if e := awaitAfter(t, s, seq, event.BootFailed); !strings.Contains(e.Detail["reason"], `partition "ESP"`) {
		t.Errorf("spoilt disk: %v", e)
	}
	if s.Snapshot().LastBoot.Booted {
		t.Error("a spoilt disk counts as booted")
	}
}

func TestBootOverride(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{})
	bmc := newConsole(t, s)
	bmc.insert(p.bootISO())
	bmc.bootFrom("Cd", "Continuous")
	for range 2 {
		seq := s.Events.Last()
		bmc.reset("On")
		awaitAfter(t, s, seq, event.RamdiskStarted)
		bmc.reset("ForceOff")
	}
	bmc.bootFrom("Cd", "Once")
	bmc.reset("On")
	if b := s.Snapshot().Boot; b.Enabled != machine.Disabled {
		// The override is used up by the boot, which begins with the power.
		await(t, s, event.BootStarted)
	}
	seq := s.Events.Last()
	bmc.reset("ForceRestart")
	awaitAfter(t, s, seq, event.BootStarted, "device", "Hdd")
	if boot := bmc.get(bmc.system)["Boot"].(map[string]any); boot["BootSourceOverrideEnabled"] != "Disabled" {
		t.Errorf("after a boot with an override for once: %v", boot)
	}
	bmc.bootFrom("Pxe", "Once")
	seq = s.Events.Last()
	bmc.reset("ForceRestart")
	if e := awaitAfter(t, s, seq, event.BootFailed, "device", "Pxe"); !strings.Contains(e.Detail["reason"], "network") {
		t.Errorf("network boot: %v", e)
	}
}

func TestForceOffEndsTheRamdiskAndItsMemory(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{})
	bmc := newConsole(t, s)
	bmc.insert(p.bootISO())
	bmc.bootFrom("Cd", "Continuous")
	bmc.reset("On")
	p.await("a heartbeat", func() bool { return p.heartbeats > 0 })
	first := p.agent()
	s.SetStepFaults(map[string]lab.StepFault{"erase_devices": {Hold: true}})
	_, body := first.request(http.MethodPost, "/v1/commands/", first.query(), map[string]any{
		"name": "clean.execute_clean_step", "params": step("erase_devices", nil),
	})
	if !strings.Contains(string(body), "RUNNING") {
		t.Fatalf("a held step: %s", body)
	}
	bmc.reset("ForceOff")
	if resp, err := first.client.Get(first.url + "/v1/status"); err == nil {
		resp.Body.Close()
		t.Error("the agent answers after the power went")
	}
	p.mu.Lock()
	p.heartbeats = 0
	p.mu.Unlock()
	bmc.reset("On")
	p.await("a heartbeat of the next boot", func() bool { return p.heartbeats > 0 })
	second := p.agent()
	_, body = second.request(http.MethodGet, "/v1/commands/", second.query(), nil)
	if strings.TrimSpace(string(body)) != `{"commands":[]}` {
		t.Errorf("commands after a power cycle: %s", body)
	}
	if second.url != first.url {
		t.Errorf("the agent moved from %s to %s", first.url, second.url)
	}
}

func TestGracefulResetNeedsASystem(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{})
	bmc := newConsole(t, s)
	bmc.reset("On")
	await(t, s, event.BootFailed)
	bmc.reset("GracefulShutdown")
	if s.Machine.Power() != machine.On {
		t.Error("a machine without a system heeded a graceful shutdown")
	}
	bmc.bootMedium(p.bootISO())
	await(t, s, event.RamdiskStarted)
	bmc.reset("GracefulShutdown")
	if s.Machine.Power() != machine.Off {
		t.Error("the ramdisk did not heed a graceful shutdown")
	}
	bmc.reset("PushPowerButton")
	if s.Machine.Power() != machine.On {
		t.Error("the button did not turn the machine on")
	}
}

func TestActionDelay(t *testing.T) {
	_, s := start(t, lab.Config{ActionDelay: 5 * time.Millisecond})
	bmc := newConsole(t, s)
	bmc.reset("On")
	await(t, s, event.PowerChanged, "power", "On")
	bmc.reset("ForceOff")
	await(t, s, event.PowerChanged, "power", "Off")
}

func TestMediaCopiesArePrivateAndGoAtEject(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{})
	bmc := newConsole(t, s)
	bmc.insert(p.bootISO())
	file := s.Machine.Media().Path
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if st.Mode().Perm() != 0o600 {
		t.Errorf("mode of the copy: %o", st.Mode().Perm())
	}
	bmc.eject()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); len(left) != 0 {
		t.Errorf("left after the eject: %v", left)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	defer gone.Close()
	bmc.do(http.StatusBadRequest, http.MethodPost, bmc.system+"/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia",
		map[string]any{"Image": gone.URL + "/x.iso"})
	await(t, s, event.MediaFailed)
}
