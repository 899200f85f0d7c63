package redfish

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

func TestHealthIsReadWithThePower(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	for given, want := range map[string]metal.Health{"OK": metal.HealthOK, "Warning": metal.HealthWarning, "Critical": metal.HealthCritical, "odd": "", "": ""} {
		b.mu.Lock()
		b.documents[sys]["Status"] = object{"Health": given}
		b.mu.Unlock()
		got, err := d.GetPower(t.Context(), b.target())
		if err != nil || got.Health != want {
			t.Errorf("%q: %+v, %v", given, got, err)
		}
	}
}

func TestPowerGoesOnAndOff(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	ctx, target := t.Context(), b.target()
	got := want[metal.PowerResult](t)(d.GetPower(ctx, target))
	if got.State != metal.PowerOff {
		t.Fatalf("state %q, want power off", got.State)
	}
	for _, step := range []struct {
		target  metal.PowerState
		want    metal.PowerResult
		resets  int
		resetBy string
	}{
		{metal.PowerOn, metal.PowerResult{State: metal.PowerOn, Changed: true}, 1, `{"ResetType":"On"}`},
		{metal.PowerOn, metal.PowerResult{State: metal.PowerOn}, 1, `{"ResetType":"On"}`},
		{metal.SoftPowerOff, metal.PowerResult{State: metal.PowerOff, Changed: true}, 2, `{"ResetType":"GracefulShutdown"}`},
		{metal.PowerOff, metal.PowerResult{State: metal.PowerOff}, 2, `{"ResetType":"GracefulShutdown"}`},
	} {
		got := want[metal.PowerResult](t)(d.SetPower(ctx, target, metal.SetPowerArgs{Target: step.target}))
		if got != step.want {
			t.Errorf("%s: %+v, want %+v", step.target, got, step.want)
		}
		posts := b.seen("POST " + sys)
		if len(posts) != step.resets || posts[len(posts)-1].body != step.resetBy {
			t.Errorf("%s: posts %v", step.target, posts)
		}
	}
}

func TestEveryRequestCarriesTheVersionHeaderAndOffersNoCompression(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn}))
	for _, r := range b.seen("") {
		if r.header.Get("OData-Version") != "4.0" || r.header.Get("Accept-Encoding") != "" {
			t.Errorf("%s has headers %v", r.line(), r.header)
		}
	}
}

func TestBootDeviceIsSetAndReadBack(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	for _, c := range []struct {
		args metal.BootDeviceArgs
		body string
	}{
		{metal.BootDeviceArgs{Device: "pxe"}, `{"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Pxe"}}`},
		{metal.BootDeviceArgs{Device: "disk", Persistent: true}, `{"Boot":{"BootSourceOverrideEnabled":"Continuous","BootSourceOverrideTarget":"Hdd"}}`},
		{metal.BootDeviceArgs{Device: "cdrom"}, `{"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"Cd"}}`},
		{metal.BootDeviceArgs{Device: "bios"}, `{"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"BiosSetup"}}`},
		{metal.BootDeviceArgs{Device: "uefihttp"}, `{"Boot":{"BootSourceOverrideEnabled":"Once","BootSourceOverrideTarget":"UefiHttp"}}`},
	} {
		kept := want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), c.args))
		read := want[metal.BootDeviceArgs](t)(d.GetBootDevice(t.Context(), b.target()))
		if kept != c.args || read != c.args {
			t.Errorf("%+v: kept %+v, read %+v", c.args, kept, read)
		}
		patches := b.seen("PATCH")
		if got := patches[len(patches)-1].body; got != c.body {
			t.Errorf("%+v: sent %s", c.args, got)
		}
	}
	_, err := d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "wanboot"})
	expect(t, err, metal.CodeInvalidArgs, "wanboot")
}

func TestVirtualMediaIsInsertedReplacedAndEjected(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	ctx, target := t.Context(), b.target()
	for _, image := range []string{"http://192.0.2.1/a.iso", "http://192.0.2.1/b.iso"} {
		status := want[metal.MediaStatus](t)(d.InsertMedia(ctx, target, metal.InsertMediaArgs{Device: "cdrom", ImageURL: image}))
		if diff := cmp.Diff([]metal.MediaDevice{{ID: "Cd", MediaTypes: []string{"CD", "DVD"}, Inserted: true, Image: image}}, status.Devices); diff != "" {
			t.Error(diff)
		}
	}
	inserts := b.seen("POST " + sys + "/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia")
	if len(inserts) != 2 || inserts[0].body != `{"Image":"http://192.0.2.1/a.iso"}` {
		t.Errorf("inserts: %v", inserts)
	}
	for range 2 {
		want[metal.MediaStatus](t)(d.EjectMedia(ctx, target, metal.EjectMediaArgs{}))
	}
	ejects := b.seen("POST " + sys + "/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia")
	if len(ejects) != 2 || ejects[0].body != `{}` {
		t.Errorf("ejects: %v", ejects)
	}
	status := want[metal.MediaStatus](t)(d.MediaStatus(ctx, target))
	if len(status.Devices) != 2 || status.Devices[1].Inserted || status.Devices[1].Image != "" {
		t.Errorf("after eject: %+v", status)
	}
}

func TestMACsAreLowerCaseAndOnlyMACs(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	base := sys + "/EthernetInterfaces"
	var all []string
	for id, mac := range map[string]any{"a": "52:54:00:AA:00:01", "b": "52-54-00-AA-00-02", "c": "21:00:F4:E9:00:00:00:01", "d": "", "e": nil,
		"f": "00:00:00:00:00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10", "g": 7} {
		b.set(base+"/"+id, object{"Id": id, "MACAddress": mac})
	}
	for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "gone"} {
		all = append(all, base+"/"+id)
	}
	b.set(base, collection(all...))
	got := want[metal.MACsResult](t)(d.MACs(t.Context(), b.target()))
	if diff := cmp.Diff([]string{"52:54:00:aa:00:01", "52:54:00:aa:00:02"}, got.MACs); diff != "" {
		t.Error(diff)
	}
	b.drop(sys, "EthernetInterfaces")
	if got := want[metal.MACsResult](t)(d.MACs(t.Context(), b.target())); len(got.MACs) != 0 {
		t.Errorf("a System without interfaces has %v", got.MACs)
	}
}

func TestAnotherKeyThanThePinnedIsRefused(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.target()
	target.TLSSPKISHA256 = strings.Repeat("ab", 32)
	_, err := d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeCertificate, b.address(), b.pin(), target.TLSSPKISHA256, "redfish_tls_spki_sha256")
	if len(b.seen("")) != 0 {
		t.Errorf("requests reached a BMC with another key: %v", b.seen(""))
	}
}

func TestRejectedCredentialsAreNamed(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.target()
	target.Credentials.Password += "x"
	_, err := d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeAuthFailed, b.address(), `"admin"`, "401", "redfish_password")
	want[metal.PowerResult](t)(d.GetPower(t.Context(), b.target())) // the right ones work at once
}

func TestAnUnreachableBMCIsNamed(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.target()
	b.server.Close()
	_, err := d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeUnreachable, b.address(), "refused", "check the address")
	_, err = d.SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOn})
	expect(t, err, metal.CodeUnreachable, b.address())
}

func TestARedirectIsNotFollowed(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("GET "+sys, func(w http.ResponseWriter, r *http.Request, _ object) bool {
		http.Redirect(w, r, "/redfish/v1/Systems/2", http.StatusTemporaryRedirect)
		return true
	})
	_, err := d.GetPower(t.Context(), b.target())
	expect(t, err, metal.CodeBMCError, "redirect", "307")
	if len(b.seen("GET /redfish/v1/Systems/2")) != 0 {
		t.Error("the redirect was followed")
	}
}

// expect checks an error's code and that its message has each text.
func expect(t *testing.T, err error, code metal.ErrorCode, texts ...string) {
	t.Helper()
	var e *driver.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error %v (code %s), want code %s", err, driver.CodeOf(err), code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(e.Message, text) {
			t.Errorf("message %q lacks %q", e.Message, text)
		}
	}
}
