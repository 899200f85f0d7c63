package redfish

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

const chassis = "/redfish/v1/Chassis/1"

// withParts gives the BMC a chassis, storage and an update service.
func withParts(b *emulated) {
	b.set(sys, object{
		"Id": "1", "UUID": "11111111-2222", "BiosVersion": "2.1", "IndicatorLED": "Off", "Storage": link(sys + "/Storage"),
		"Links": object{"ManagedBy": []object{link("/redfish/v1/Managers/1")}, "Chassis": []object{link(chassis)}},
	})
	b.set(chassis, object{
		"Id": "1", "UUID": "33333333-4444", "IndicatorLED": "Blinking", "Thermal": link(chassis + "/Thermal"), "Power": link(chassis + "/Power"),
		"NetworkAdapters": link(chassis + "/NetworkAdapters"),
	})
	b.set(chassis+"/Thermal", object{
		"Id": "Thermal",
		"Fans": []object{
			{"MemberId": "0", "Reading": "2100", "ReadingUnits": "RPM", "Status": object{"State": "Enabled", "Health": "OK"}},
			{"Reading": 5},
		},
		"Temperatures": []object{{"MemberId": 0, "ReadingCelsius": 41, "MaxReadingRangeTemp": "N/A", "PhysicalContext": "Intake"}},
	})
	b.set(chassis+"/Power", object{"Id": "Power", "PowerSupplies": []object{{"MemberId": "0", "LastPowerOutputWatts": 120}}})
	b.set(chassis+"/NetworkAdapters", collection(chassis+"/NetworkAdapters/n"))
	b.set(chassis+"/NetworkAdapters/n", object{"Id": "n", "SerialNumber": "S1", "Model": "M", "Manufacturer": "V", "Controllers": []object{{"FirmwarePackageVersion": "22.1"}}})
	b.set(sys+"/Storage", collection(sys+"/Storage/s"))
	b.set(sys+"/Storage/s", object{"Id": "s", "Drives": []object{link(sys + "/Storage/s/Drives/d")}})
	b.set(sys+"/Storage/s/Drives/d", object{"Id": "d", "Name": "Disk", "CapacityBytes": 1000, "IndicatorLED": "Lit", "Status": object{"Health": "OK"}})
}

func TestSensorsAreReadLeafByLeaf(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withParts(b)
	got := want[metal.SensorsResult](t)(d.GetSensors(t.Context(), b.target()))
	if diff := cmp.Diff(map[string]map[string]map[string]any{
		"Fan":         {"0@1": {"identity": "0", "reading": 2100.0, "reading_units": "RPM", "state": "Enabled", "health": "OK"}},
		"Temperature": {"0@1": {"identity": "0", "reading_celsius": 41.0, "physical_context": "Intake"}},
		"Power":       {"0:Power@1": {"last_power_output_watts": 120.0}},
		"Drive":       {"Disk:s@1": {"name": "Disk", "capacity_bytes": 1000.0, "state": "Enabled", "health": "OK"}},
	}, got.Sensors); diff != "" {
		t.Error(diff)
	}
}

func TestIndicatorsAreReadAndSet(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withParts(b)
	states := []string{"BLINKING", "OFF", "ON"}
	got := want[metal.IndicatorsResult](t)(d.GetIndicators(t.Context(), b.target()))
	if diff := cmp.Diff(map[string]map[string]metal.Indicator{
		"system":  {"11111111-2222": {States: states, State: "OFF"}},
		"chassis": {"33333333-4444": {States: states, State: "BLINKING"}},
		"disk":    {"s:d": {States: states, State: "ON"}},
	}, got.Indicators); diff != "" {
		t.Error(diff)
	}
	if err := d.SetIndicator(t.Context(), b.target(), metal.SetIndicatorArgs{Component: "disk", Indicator: "s:d", State: "BLINKING"}); err != nil {
		t.Fatal(err)
	}
	if led := b.documents[sys+"/Storage/s/Drives/d"]["IndicatorLED"]; led != "Blinking" {
		t.Errorf("the LED shows %v", led)
	}
	expect(t, d.SetIndicator(t.Context(), b.target(), metal.SetIndicatorArgs{Component: "disk", Indicator: "x", State: "ON"}), metal.CodeInvalidArgs, "no indicator")
	expect(t, d.SetIndicator(t.Context(), b.target(), metal.SetIndicatorArgs{Component: "disk", Indicator: "s:d", State: "red"}), metal.CodeInvalidArgs, "red")
}

func TestFirmwareIsNamedAsIronicNamesIt(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withParts(b)
	all := []metal.FirmwareComponentInfo{
		{Component: "bios", CurrentVersion: "2.1"},
		{Component: "bmc", CurrentVersion: "7.1"},
		{Component: "nic:S1", CurrentVersion: "22.1", Vendor: "V", Model: "M", SerialNumber: "S1"},
	}
	got := want[metal.FirmwareComponentsResult](t)(d.FirmwareComponents(t.Context(), b.target()))
	if diff := cmp.Diff(all, got.Components); diff != "" {
		t.Error(diff)
	}
	b.drop(sys, "BiosVersion")
	inventory := "/redfish/v1/UpdateService/FirmwareInventory"
	b.set(inventory, collection(inventory+"/1", inventory+"/2"))
	b.set(inventory+"/1", object{"Name": "Backplane", "Version": "1"})
	b.set(inventory+"/2", object{"Name": "System BIOS", "Version": "2.2"})
	got = want[metal.FirmwareComponentsResult](t)(d.FirmwareComponents(t.Context(), b.target()))
	if diff := cmp.Diff(append(all[1:], metal.FirmwareComponentInfo{Component: "bios", CurrentVersion: "2.2"}), got.Components); diff != "" {
		t.Error(diff)
	}
}

func TestBootModeAndSecureBoot(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	ctx, target := t.Context(), b.target()
	b.set(sys, object{"SecureBoot": link(sys + "/SecureBoot")})
	b.set(sys+"/SecureBoot", object{"SecureBootEnable": false})
	for _, mode := range []string{"uefi", "bios", "uefi"} {
		want[metal.BootModeArgs](t)(d.SetBootMode(ctx, target, metal.BootModeArgs{Mode: mode}))
		if got := want[metal.BootModeArgs](t)(d.GetBootMode(ctx, target)); got.Mode != mode {
			t.Errorf("mode %q, want %q", got.Mode, mode)
		}
	}
	if n := len(b.seen("PATCH " + sys)); n != 2 {
		t.Errorf("%d patches; a mode that is there is not set", n)
	}
	for _, on := range []bool{true, false} {
		want[metal.SecureBootArgs](t)(d.SetSecureBoot(ctx, target, metal.SecureBootArgs{Enabled: on}))
		if got := want[metal.SecureBootArgs](t)(d.GetSecureBoot(ctx, target)); got.Enabled != on {
			t.Errorf("secure boot %v", got)
		}
	}
	_, err := d.SetBootMode(ctx, target, metal.BootModeArgs{Mode: "legacy"})
	expect(t, err, metal.CodeInvalidArgs, "legacy")
}

func TestNMI(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	if err := d.InjectNMI(t.Context(), b.target()); err != nil {
		t.Fatal(err)
	}
	if posts := b.seen(reset); len(posts) != 1 || posts[0].body != `{"ResetType":"Nmi"}` {
		t.Errorf("posts %v", posts)
	}
}

func TestAVendorThatBootsVirtualMediaAsUSB(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.set(sys, object{"Manufacturer": "Supermicro", "Boot": object{
		"BootSourceOverrideTarget": "None", "BootSourceOverrideTarget@Redfish.AllowableValues": []string{"Pxe", "Cd", "UsbCd"}}})
	got := want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "cdrom"}))
	if got.Device != "cdrom" || b.documents[sys]["Boot"].(object)["BootSourceOverrideTarget"] != "UsbCd" {
		t.Errorf("%+v, %v", got, b.documents[sys]["Boot"])
	}
	_, err := d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "uefihttp"})
	expect(t, err, metal.CodeUnsupported, "Pxe, Cd, UsbCd")
}

const accounts = "/redfish/v1/AccountService/Accounts"

// withAccounts gives the BMC fixed account slots; a password written to the
// caller's own counts at once and ends all sessions.
func withAccounts(b *emulated) {
	b.set("/redfish/v1/AccountService", object{"Accounts": link(accounts)})
	b.set(accounts, collection(accounts+"/1", accounts+"/2"))
	b.set(accounts+"/1", object{"UserName": ""})
	b.set(accounts+"/2", object{"UserName": b.user})
	b.on("PATCH "+accounts+"/2", func(w http.ResponseWriter, r *http.Request, body object) bool {
		if !b.authorised(r) {
			return false
		}
		b.pass = body["Password"].(string)
		clear(b.tokens)
		w.WriteHeader(204)
		return true
	})
}

func TestAPasswordIsRotatedAndProven(t *testing.T) {
	for _, auth := range []string{authBasic, authSession} {
		b, d := newBMC(t), newDriver(t)
		withAccounts(b)
		next := driver.Credentials{Password: "new-" + b.pass}
		got := want[metal.RotateCredentialResult](t)(d.RotateCredential(t.Context(), b.sessionTarget(auth), next))
		if !got.Verified || !got.OldRefused {
			t.Errorf("%s: %+v", auth, got)
		}
		if patches := b.seen("PATCH"); len(patches) != 1 || patches[0].path != accounts+"/2" {
			t.Errorf("%s: patches %v", auth, patches)
		}
		want[metal.PowerResult](t)(d.GetPower(t.Context(), b.sessionTarget(auth)))
	}
}

func TestARotationThatTheBMCDoesNotCarryOutIsNoSuccess(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withAccounts(b)
	next := driver.Credentials{Username: b.user, Password: "new-" + b.pass}
	b.on("PATCH "+accounts+"/2", func(w http.ResponseWriter, _ *http.Request, _ object) bool { w.WriteHeader(204); return true })
	_, err := d.RotateCredential(t.Context(), b.target(), next)
	expect(t, err, metal.CodeAuthFailed, "a login with it fails", "the old one stays current")
	b.on("PATCH "+accounts+"/2", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		refuse(w, 400, "PropertyValueFormatError", "the password is too long")
		return true
	})
	_, err = d.RotateCredential(t.Context(), b.target(), next)
	expect(t, err, metal.CodeBMCError, "too long")
	for _, bad := range []driver.Credentials{{Password: b.pass}, {}, {Username: "other", Password: "x"}} {
		_, err = d.RotateCredential(t.Context(), b.target(), bad)
		expect(t, err, metal.CodeInvalidArgs)
	}
}

func TestALostAnswerToARotationIsSettledByALogin(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withAccounts(b)
	b.on("PATCH "+accounts+"/2", func(_ http.ResponseWriter, _ *http.Request, body object) bool {
		b.pass = body["Password"].(string)
		panic(http.ErrAbortHandler)
	})
	got := want[metal.RotateCredentialResult](t)(d.RotateCredential(t.Context(), b.target(), driver.Credentials{Password: "new-" + b.pass}))
	if !got.Verified {
		t.Errorf("%+v", got)
	}
}

func TestAFactoryPasswordIsChangedWhereTheBMCSays(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withAccounts(b)
	factory := b.pass
	forced := func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		if b.pass == factory {
			refuse(w, 403, "PasswordChangeRequired", "change the password at "+accounts+"/2", accounts+"/2")
		}
		return b.pass == factory
	}
	for _, path := range []string{sys, "/redfish/v1/Systems", "/redfish/v1/AccountService"} {
		b.on("GET "+path, forced)
	}
	_, err := d.GetPower(t.Context(), b.target())
	expect(t, err, metal.CodeAuthFailed, "changed before anything else")
	got := want[metal.RotateCredentialResult](t)(d.RotateCredential(t.Context(), b.target(), driver.Credentials{Password: "new-" + factory}))
	if !got.Verified {
		t.Errorf("%+v", got)
	}
}

func TestChangePasswordActionIsTheFallback(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	withAccounts(b)
	b.set(accounts+"/2", object{"Actions": object{"#ManagerAccount.ChangePassword": object{"target": accounts + "/2/Actions/ManagerAccount.ChangePassword"}}})
	b.on("PATCH "+accounts+"/2", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		refuse(w, 400, "PropertyNotWritable", "Password", "Password")
		return true
	})
	b.on("POST "+accounts+"/2/Actions/ManagerAccount.ChangePassword", func(w http.ResponseWriter, _ *http.Request, body object) bool {
		if body["SessionAccountPassword"] == b.pass {
			b.pass = body["NewPassword"].(string)
		}
		w.WriteHeader(204)
		return true
	})
	got := want[metal.RotateCredentialResult](t)(d.RotateCredential(t.Context(), b.target(), driver.Credentials{Password: "new-" + b.pass}))
	if !got.Verified || !got.OldRefused {
		t.Errorf("%+v", got)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"error":{"code":"x","@Message.ExtendedInfo":[{"MessageId":7,"MessageArgs":"a"}]}}`))
	f.Add([]byte(`{"a":"12","b":[1,"x",null,{"@odata.id":"/redfish/v1"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		doc, ok := decode(raw)
		if !ok {
			return
		}
		for name := range doc {
			doc.text(name)
			doc.number(name)
			doc.integer(name)
			doc.flag(name)
			doc.texts(name)
			doc.links(name)
			doc.child(name).link(name)
		}
		r := &refusal{status: 400, words: wordsOf(doc.child("error"))}
		if said := r.said(); len(said) > maxSaid+len(" …") || strings.Contains(said, "\n") {
			t.Fatalf("said %q", said)
		}
	})
}

func TestAPartThatTheBMCDoesNotShowIsLeftOutAndABusyOneIsNot(t *testing.T) {
	for status, fails := range map[int]bool{403: false, 404: false, 500: false, 501: false, 503: true, 401: true} {
		b, d := newBMC(t), newDriver(t)
		b.set(sys, object{"Processors": link(sys + "/Processors"), "MemorySummary": object{"TotalSystemMemoryGiB": 1}})
		b.on("GET "+sys+"/Processors", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
			answer(w, status, object{"error": object{"code": "Base.1.0.GeneralError", "message": "out of luck",
				"@Message.ExtendedInfo": []object{{"MessageId": "Base.1.0.GeneralError"}}}})
			return true
		})
		got, err := d.Inspect(t.Context(), b.target())
		if fails != (err != nil) || !fails && got.Properties["memory_mb"] != "1024" {
			t.Errorf("%d: %v, %v", status, got.Properties, err)
		}
		if err != nil && !strings.Contains(err.Error(), "out of luck") {
			t.Errorf("%d: the BMC's words are lost: %v", status, err)
		}
	}
}
