package drivers_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"ferrule/drivers"
	"ferrule/hardware"
	"ferrule/metal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRegistry(t *testing.T) *drivers.Registry {
	r := drivers.New(drivers.Config{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if err := r.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return r
}

func TestTheCapabilityTable(t *testing.T) {
	want := map[string][]metal.Operation{
		"redfish": {
			metal.FirmwareComponents, metal.InspectHardware, metal.InspectMACs,
			metal.BootDeviceGet, metal.BootModeGet, metal.IndicatorsGet, metal.SecureBootGet, metal.SensorsGet,
			metal.NMIInject, metal.CredentialRotate,
			metal.BootDeviceSet, metal.BootModeSet, metal.IndicatorSet, metal.SecureBootSet,
			metal.PowerGet, metal.PowerSet,
			metal.VirtualMediaEject, metal.VirtualMediaInsert, metal.VirtualMediaStatus,
		},
		"fake": {
			metal.ConsoleStart, metal.ConsoleStop, metal.FirmwareComponents, metal.InspectHardware, metal.InspectMACs,
			metal.BootDeviceGet, metal.IndicatorsGet, metal.SensorsGet, metal.NMIInject,
			metal.BootDeviceSet, metal.IndicatorSet, metal.PowerGet, metal.PowerSet, metal.VendorCall,
		},
		"manual": {metal.BootDeviceGet, metal.BootDeviceSet, metal.PowerGet, metal.PowerSet},
	}
	r := newRegistry(t)
	if diff := cmp.Diff(want, r.Capabilities()); diff != "" {
		t.Error(diff)
	}
	for name, operations := range want {
		for _, op := range operations {
			if _, ok := metal.CommandKind(op); !ok {
				t.Errorf("%s can do %s, which no kind of command covers", name, op)
			}
		}
	}
}

// What the catalogue says of an implementation, its driver can do.
func TestDriversCanDoWhatTheCatalogueSays(t *testing.T) {
	r := newRegistry(t)
	for _, h := range hardware.Types() {
		for _, rows := range h.Supported {
			for _, row := range rows {
				if row.Unserved {
					continue // shown and validated, with no driver's operations behind it
				}
				for _, op := range slices.Concat(row.Needs, row.Offers) {
					if !op.OfAgent() && !slices.Contains(r.Operations(row.Driver), op) {
						t.Errorf("%s of the %s interface %s: the driver %q cannot do it", op, row.Type, row.Name, row.Driver)
					}
				}
			}
		}
	}
}

func TestWhatCannotBeDoneIsRefusedWithItsCode(t *testing.T) {
	r := newRegistry(t)
	for name, c := range map[string]struct {
		req  metal.Request
		code metal.ErrorCode
		says string
	}{
		"no such driver":       {metal.Request{Driver: "snmp", Operation: metal.PowerGet}, metal.CodeUnsupportedDriver, "snmp"},
		"no driver":            {metal.Request{Operation: metal.PowerGet}, metal.CodeUnsupportedDriver, "redfish"},
		"no such operation":    {metal.Request{Driver: "manual", Operation: metal.SensorsGet}, metal.CodeUnsupportedOperation, "management.getSensors"},
		"arguments not JSON":   {metal.Request{Driver: "fake", Operation: metal.PowerSet, ArgsJSON: []byte(`{`)}, metal.CodeInvalidArgs, ""},
		"unknown argument":     {metal.Request{Driver: "fake", Operation: metal.PowerSet, ArgsJSON: []byte(`{"goal":"x"}`)}, metal.CodeInvalidArgs, "goal"},
		"two values":           {metal.Request{Driver: "fake", Operation: metal.PowerSet, ArgsJSON: []byte(`{} {}`)}, metal.CodeInvalidArgs, "more than one"},
		"arguments of a read":  {metal.Request{Driver: "fake", Operation: metal.PowerGet, ArgsJSON: []byte(`{"x":1}`)}, metal.CodeInvalidArgs, "no arguments"},
		"reboot in one":        {metal.Request{Driver: "fake", Operation: metal.PowerSet, ArgsJSON: []byte(`{"target":"rebooting"}`)}, metal.CodeInvalidArgs, "rebooting"},
		"unknown option":       {metal.Request{Driver: "fake", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"colour":"red"}`)}, metal.CodeInvalidConfig, "power_state"},
		"option of odd type":   {metal.Request{Driver: "fake", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"power_state":1}`)}, metal.CodeInvalidConfig, "not text"},
		"option of odd value":  {metal.Request{Driver: "redfish", Address: "bmc", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"redfish_auth_type":"magic"}`)}, metal.CodeInvalidConfig, "auto, basic, session"},
		"options not sorted":   {metal.Request{Driver: "redfish", Address: "bmc", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"username":"a","redfish_auth_type":"basic"}`)}, metal.CodeInvalidConfig, "sorted"},
		"an option twice":      {metal.Request{Driver: "redfish", Address: "bmc", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"username":"a","username":"b"}`)}, metal.CodeInvalidConfig, "sorted"},
		"options with blanks":  {metal.Request{Driver: "fake", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{ "power_state":""}`)}, metal.CodeInvalidConfig, "blanks"},
		"options too long":     {metal.Request{Driver: "fake", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"power_state":"` + strings.Repeat("x", 1024) + `"}`)}, metal.CodeInvalidConfig, "1024"},
		"options no object":    {metal.Request{Driver: "fake", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`[]`)}, metal.CodeInvalidConfig, "no object"},
		"options null":         {metal.Request{Driver: "fake", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`null`)}, metal.CodeInvalidConfig, "no object"},
		"address":              {metal.Request{Driver: "redfish", Address: "a@b", Operation: metal.PowerGet}, metal.CodeInvalidAddress, "redfish_address has an @"},
		"CA":                   {metal.Request{Driver: "redfish", Address: "bmc", Operation: metal.PowerGet, DriverOptionsJSON: []byte(`{"redfish_verify_ca":"maybe"}`)}, metal.CodeInvalidConfig, "redfish_verify_ca"},
		"rotation without new": {metal.Request{Driver: "redfish", Address: "bmc", Operation: metal.CredentialRotate, ArgsJSON: []byte(`{}`)}, metal.CodeCredentialsUnavailable, "no new password"},
	} {
		got := r.Execute(t.Context(), c.req, drivers.Credentials{})
		if got.OK || got.ErrorCode != c.code || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v, want %s with %q", name, got, c.code, c.says)
		}
	}
	if got := r.Rotate(t.Context(), metal.Request{Driver: "fake", Operation: metal.PowerGet}, drivers.Credentials{}, drivers.Credentials{}); got.ErrorCode != metal.CodeInvalidArgs {
		t.Errorf("a rotation that is none: %+v", got)
	}
	if err := r.Check(metal.Request{Driver: "redfish", Address: "bmc.example.org", Operation: metal.PowerGet}); err != nil {
		t.Errorf("a good request: %v", err)
	}
}

func TestFakeAndManualAnswerAsIronicsDo(t *testing.T) {
	r := newRegistry(t)
	for _, c := range []struct {
		driver    string
		op        metal.Operation
		args      string
		options   string
		want      string
		wantError metal.ErrorCode
	}{
		{"fake", metal.PowerGet, ``, ``, `{"state":""}`, ""},
		{"fake", metal.PowerGet, `{}`, `{"power_state":"power on"}`, `{"state":"power on"}`, ""},
		{"fake", metal.PowerSet, `{"target":"power on"}`, `{"power_state":""}`, `{"state":"power on","changed":true}`, ""},
		{"fake", metal.PowerSet, `{"target":"power on"}`, `{"power_state":"power on"}`, `{"state":"power on"}`, ""},
		{"fake", metal.PowerSet, `{"target":"soft power off"}`, `{"power_state":"power on"}`, `{"state":"power off","changed":true}`, ""},
		{"fake", metal.BootDeviceGet, ``, ``, `{"device":"pxe","persistent":false}`, ""},
		{"fake", metal.BootDeviceSet, `{"device":"pxe","persistent":true}`, ``, `{"device":"pxe","persistent":true}`, ""},
		{"fake", metal.BootDeviceSet, `{"device":"disk","persistent":true}`, ``, ``, metal.CodeInvalidArgs},
		{"fake", metal.SensorsGet, ``, ``, `{"sensors":{}}`, ""},
		{"fake", metal.NMIInject, ``, ``, ``, ""},
		{"fake", metal.IndicatorSet, `{"component":"system","indicator":"led","state":"OFF"}`, ``, ``, ""},
		{"fake", metal.IndicatorSet, `{"component":"chassis","indicator":"led-0","state":"OFF"}`, ``, ``, metal.CodeUnsupported},
		{"fake", metal.IndicatorSet, `{"component":"system","indicator":"led","state":"RED"}`, ``, ``, metal.CodeInvalidArgs},
		{"fake", metal.IndicatorSet, `{"component":"fan","indicator":"led","state":"OFF"}`, ``, ``, metal.CodeInvalidArgs},
		{"fake", metal.InspectMACs, ``, ``, `{"macs":[]}`, ""},
		{"fake", metal.FirmwareComponents, ``, ``, `{"components":[]}`, ""},
		{"manual", metal.PowerSet, `{"target":"power off"}`, `{"power_state":"power on"}`, `{"state":"power off","changed":true}`, ""},
		{"manual", metal.BootDeviceGet, ``, ``, `{"device":"pxe","persistent":true}`, ""},
		{"manual", metal.BootDeviceSet, `{"device":"disk"}`, ``, `{"device":"disk","persistent":false}`, ""},
		{"manual", metal.BootDeviceSet, `{"device":"cdrom"}`, ``, ``, metal.CodeInvalidArgs},
	} {
		got := r.Execute(t.Context(), metal.Request{Driver: c.driver, Operation: c.op, ArgsJSON: []byte(c.args), DriverOptionsJSON: []byte(c.options)}, drivers.Credentials{})
		if got.OK != (c.wantError == "") || got.ErrorCode != c.wantError || string(got.ResultJSON) != c.want {
			t.Errorf("%s %s %s: %+v %s", c.driver, c.op, c.args, got, got.ResultJSON)
		}
	}
}

func TestNoPasswordComesBack(t *testing.T) {
	creds := drivers.Credentials{Username: "admin", Password: `p"<` + rand.Text()}
	next := drivers.Credentials{Password: `q"&` + rand.Text()}
	parrot := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		said := fmt.Sprintf("you sent %s and %s", req.Header.Get("Authorization"), creds.Password)
		if strings.Contains(req.URL.Path, "Account") {
			said += " and " + next.Password
		}
		text, err := json.Marshal(said)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, `{"error":{"message":%s}}`, text)
	}))
	parrot.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	parrot.StartTLS()
	defer parrot.Close()
	var logged strings.Builder
	r := drivers.New(drivers.Config{Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	defer func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	req := metal.Request{Driver: "redfish", Address: parrot.Listener.Addr().String(), DriverOptionsJSON: []byte(`{"redfish_auth_type":"basic","redfish_verify_ca":false}`)}
	req.Operation = metal.PowerGet
	all := r.Execute(t.Context(), req, creds).Message
	req.Operation, req.ArgsJSON = metal.CredentialRotate, []byte(`{}`)
	all += r.Rotate(t.Context(), req, creds, next).Message
	all += fmt.Sprint(creds) + fmt.Sprintf("%v %+v %#v %s", creds, creds, creds, creds) + slog.AnyValue(creds).Resolve().String()
	raw, err := json.Marshal(creds)
	if err != nil {
		t.Fatal(err)
	}
	all += string(raw) + logged.String()
	if !strings.Contains(all, "you sent ******") && !strings.Contains(all, "Basic ******") {
		t.Errorf("the BMC's words are lost: %s", all)
	}
	for _, secret := range []string{creds.Password, next.Password, creds.Password[3:], next.Password[3:]} {
		if strings.Contains(all, secret) {
			t.Errorf("a password came back: %s", all)
		}
	}
	if n := strings.Count(logged.String(), "not verified"); n != 1 {
		t.Errorf("an unverified certificate is warned of %d times in two operations, not once", n)
	}
}

func TestCredentialsAreReadAsObjectOrBarePassword(t *testing.T) {
	for secret, want := range map[string]drivers.Credentials{
		`{"username":"admin","password":"x"}`: {Username: "admin", Password: "x"},
		`{"password":""}`:                     {},
		`12345678`:                            {Password: "12345678"},
		`{"a":1}`:                             {Password: `{"a":1}`},
		`-C3`:                                 {Password: "-C3"},
		``:                                    {},
	} {
		if got := drivers.ParseCredentials([]byte(secret)); got != want {
			t.Errorf("%q: %s", secret, got)
		}
	}
}
