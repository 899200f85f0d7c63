package redfish

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ferrule/drivers/driver"
	"ferrule/lab"
	emulator "ferrule/lab/redfish"
	"ferrule/metal"
)

// labServer is one emulated server that another hand wrote.
func labServer(t *testing.T, address string, def lab.Definition, quirks emulator.Quirks) (*lab.Server, driver.Target) {
	l, err := lab.New(lab.Config{
		Dir: t.TempDir(), BMCBase: address, MachineBase: strings.Replace(address, "127.0.", "127.1.", 1), DiskSize: 64 << 20,
		Quirks: quirks, Definitions: []lab.Definition{def},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	s := l.Servers()[0]
	username, password := s.Credentials()
	return s, driver.Target{
		Address: s.BMC.Address(), TLSSPKISHA256: s.BMC.SPKI(), Options: driver.Options{},
		Credentials: driver.Credentials{Username: username, Password: password},
	}
}

// imageServer gives the BMC something to insert.
func imageServer(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "no real image") }))
	t.Cleanup(s.Close)
	return s.URL + "/boot.iso"
}

var labQuirks = map[string]emulator.Quirks{
	"none":                     {},
	"reset types elsewhere":    {ActionInfo: true},
	"same state is a conflict": {SameState: 409},
	"same state is bad":        {SameState: 400},
	"boot settings elsewhere":  {BootSettings: true},
	"no boot mode":             {NoBootMode: true},
	"in POST":                  {PostRefusals: 3},
	"ETag 412":                 {NeedsETag: 412},
	"ETag 428":                 {NeedsETag: 428},
	"ETag 429 and gzip":        {NeedsETag: 429, GzipETag: true},
	"no sessions":              {NoSessions: true},
	"one session":              {SessionLimit: 1},
	"media on the system":      {MediaOn: "system"},
	"media on the manager":     {MediaOn: "manager"},
	"image only":               {InsertImageOnly: true},
	"media by PATCH":           {MediaByPatch: true},
	"media by PATCH with ETag": {MediaByPatch: true, NeedsETag: 412},
	"strict eject":             {StrictEject: true},
	"bad leaves":               {BadLeaves: true},
	"odd MACs":                 {OddMACs: true},
	"not ready": {NotReady: []emulator.Answer{
		{Status: 400, MessageID: "IDRAC.2.8.SWC0700"}, {Status: 400, MessageID: "IDRAC.2.8.SWC0700"},
		{Status: 503, MessageID: "IDRAC.2.8.SYS518", RetryAfter: time.Second},
	}},
	"tasks":                  {AsyncTasks: 3},
	"tasks named in a body":  {AsyncTasks: 2, TaskInBody: true},
	"many at once":           {ActionInfo: true, SameState: 409, BootSettings: true, NeedsETag: 412, MediaOn: "manager", InsertImageOnly: true, StrictEject: true, AsyncTasks: 1, BadLeaves: true},
	"sessions that are lost": {DropsSessions: true, AccountSlots: true},
}

func TestTheLifeOfAServerWithEveryQuirk(t *testing.T) {
	image := imageServer(t)
	n := 0
	for name, quirks := range labQuirks {
		n++
		address := fmt.Sprintf("127.0.70.%d", n)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, target := labServer(t, address, lab.Definition{MACs: []string{"52:54:00:AA:00:01", "52:54:00:aa:00:02"}}, quirks)
			liveOnce(t, newDriver(t), target, image)
			for _, action := range s.BMC.Observed().Actions {
				if !action.Accepted {
					t.Errorf("a reset was sent that the BMC had to refuse: %+v", action)
				}
			}
		})
	}
}

// liveOnce takes a server through what a deployment asks of its BMC.
func liveOnce(t *testing.T, d *Driver, target driver.Target, image string) {
	ctx := t.Context()
	want[metal.PowerResult](t)(d.SetPower(ctx, target, metal.SetPowerArgs{Target: metal.PowerOff}))
	want[metal.MediaStatus](t)(d.InsertMedia(ctx, target, metal.InsertMediaArgs{Device: "cdrom", ImageURL: image}))
	want[metal.MediaStatus](t)(d.InsertMedia(ctx, target, metal.InsertMediaArgs{Device: "cdrom", ImageURL: image}))
	for _, persistent := range []bool{false, true} {
		kept := want[metal.BootDeviceArgs](t)(d.SetBootDevice(ctx, target, metal.BootDeviceArgs{Device: "cdrom", Persistent: persistent}))
		if kept.Device != "cdrom" || kept.Persistent != persistent {
			t.Errorf("kept %+v", kept)
		}
	}
	on := want[metal.PowerResult](t)(d.SetPower(ctx, target, metal.SetPowerArgs{Target: metal.PowerOn}))
	if on != (metal.PowerResult{State: metal.PowerOn, Changed: true}) {
		t.Errorf("power on: %+v", on)
	}
	want[metal.BootDeviceArgs](t)(d.SetBootDevice(ctx, target, metal.BootDeviceArgs{Device: "disk", Persistent: true}))
	if again := want[metal.PowerResult](t)(d.SetPower(ctx, target, metal.SetPowerArgs{Target: metal.PowerOn})); again.Changed {
		t.Error("a running machine was powered on")
	}
	for range 2 {
		status := want[metal.MediaStatus](t)(d.EjectMedia(ctx, target, metal.EjectMediaArgs{}))
		for _, dev := range status.Devices {
			if dev.Inserted {
				t.Errorf("after ejecting: %+v", dev)
			}
		}
	}
	macs := want[metal.MACsResult](t)(d.MACs(ctx, target)).MACs
	if fmt.Sprint(macs) != "[52:54:00:aa:00:01 52:54:00:aa:00:02]" {
		t.Errorf("MACs %v", macs)
	}
	found := want[metal.InspectResult](t)(d.Inspect(ctx, target))
	for _, property := range []string{"cpu_arch", "memory_mb", "vendor"} {
		if found.Properties[property] == "" {
			t.Errorf("inspection finds no %s: %v", property, found.Properties)
		}
	}
	want[metal.FirmwareComponentsResult](t)(d.FirmwareComponents(ctx, target))
	want[metal.SensorsResult](t)(d.GetSensors(ctx, target))
	off := want[metal.PowerResult](t)(d.SetPower(ctx, target, metal.SetPowerArgs{Target: metal.PowerOff}))
	if off.State != metal.PowerOff || !off.Changed {
		t.Errorf("power off: %+v", off)
	}
}

func TestAMinimalLabServer(t *testing.T) {
	_, target := labServer(t, "127.0.71.1", lab.Definition{}, emulator.Quirks{Minimal: true})
	d := newDriver(t)
	want[metal.PowerResult](t)(d.SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOn}))
	want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), target, metal.BootDeviceArgs{Device: "pxe"}))
	want[metal.InspectResult](t)(d.Inspect(t.Context(), target))
	want[metal.MACsResult](t)(d.MACs(t.Context(), target))
}

func TestLabServersThatCannotBeHelped(t *testing.T) {
	ctx := t.Context()
	_, target := labServer(t, "127.0.71.2", lab.Definition{}, emulator.Quirks{ForgetsBoot: true})
	_, err := newDriver(t).SetBootDevice(ctx, target, metal.BootDeviceArgs{Device: "pxe"})
	expect(t, err, metal.CodeBMCError, "accepted but did not keep the boot override")
	for i, shown := range []string{"missing", "null"} {
		s, target := labServer(t, fmt.Sprintf("127.0.71.%d", 3+i), lab.Definition{}, emulator.Quirks{PowerState: shown})
		_, err := newDriver(t).SetPower(ctx, target, metal.SetPowerArgs{Target: metal.PowerOff})
		expect(t, err, metal.CodeBMCError, "does not tell the power state")
		if actions := s.BMC.Observed().Actions; len(actions) != 0 {
			t.Errorf("%s: %v", shown, actions)
		}
	}
	_, target = labServer(t, "127.0.71.5", lab.Definition{OtherSystems: []string{"HGX_Baseboard_0"}}, emulator.Quirks{})
	_, err = newDriver(t).GetPower(ctx, target)
	expect(t, err, metal.CodeInvalidConfig, "HGX_Baseboard_0", "redfish_system_id")
	target.Options[optSystemID] = "1"
	want[metal.PowerResult](t)(newDriver(t).GetPower(ctx, target))
}

func TestFaultsOfALabServerAreToldApart(t *testing.T) {
	s, target := labServer(t, "127.0.71.6", lab.Definition{}, emulator.Quirks{})
	d := newDriver(t)
	d.pace.request, d.pace.retryFor = 300*time.Millisecond, 50*time.Millisecond
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	for _, c := range []struct {
		faults emulator.Faults
		code   metal.ErrorCode
		says   string
	}{
		{emulator.Faults{RefuseConnections: true}, metal.CodeUnreachable, "refused"},
		{emulator.Faults{RefusePassword: true}, metal.CodeAuthFailed, "rejected the credentials"},
		{emulator.Faults{OtherCertificate: true}, metal.CodeCertificate, "pinned"},
		{emulator.Faults{Hang: true}, metal.CodeUnreachable, "no answer within"},
		{emulator.Faults{Status: 500}, metal.CodeBMCError, "500"},
		{emulator.Faults{Status: 503}, metal.CodeBMCError, "503"},
	} {
		if err := s.BMC.SetFaults(c.faults); err != nil {
			t.Fatal(err)
		}
		_, err := d.GetPower(t.Context(), target)
		expect(t, err, c.code, "127.0.71.6", c.says)
		if err := s.BMC.SetFaults(emulator.Faults{}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.GetPower(t.Context(), target); err != nil {
			t.Errorf("after %+v: %v", c.faults, err)
		}
	}
	if n := s.BMC.Observed().Sessions; n > 2 { // one may be left over from a dropped connection
		t.Errorf("%d sessions are open", n)
	}
}

func TestRotationAtLabServers(t *testing.T) {
	n := 10
	for name, quirks := range map[string]emulator.Quirks{
		"plain": {}, "slots": {AccountSlots: true, DropsSessions: true}, "tasks": {AsyncTasks: 2, DropsSessions: true},
		"factory password": {FactoryPassword: true, AccountSlots: true}, "ETag": {NeedsETag: 412}, "no sessions": {NoSessions: true},
	} {
		n++
		_, target := labServer(t, fmt.Sprintf("127.0.71.%d", n), lab.Definition{}, quirks)
		d := newDriver(t)
		next := driver.Credentials{Password: "new-" + target.Credentials.Password}
		got, err := d.RotateCredential(t.Context(), target, next)
		if err != nil || !got.Verified || !got.OldRefused {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		_, err = d.GetPower(t.Context(), target)
		expect(t, err, metal.CodeAuthFailed)
		target.Credentials.Password = next.Password
		want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	}
}
