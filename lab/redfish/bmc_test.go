package redfish

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"ferrule/lab/event"
	"ferrule/lab/machine"
	"ferrule/lab/ramdisk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "not-a-real-password"

// testBMC is a service with one machine behind it.
func testBMC(tb testing.TB, q Quirks) *BMC {
	tb.Helper()
	log := &event.Log{}
	m, err := machine.New(machine.Config{
		Name: "m", Dir: tb.TempDir(), DiskSize: 8 << 20, Log: log,
		Hardware: ramdisk.Hardware{Address: "127.0.180.250", NICs: []ramdisk.NIC{{Name: "eth0", MAC: "52:54:00:00:00:01"}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(m.Close)
	b, err := Start(Config{
		Name: "m", Host: "127.0.100.250", Username: "admin", Password: password, MediaDir: tb.TempDir(),
		Systems: []System{{ID: "1", Machine: m}}, Quirks: q, Log: log,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.Close)
	return b
}

func (b *BMC) serve(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.URL.Path = path
	r.SetBasicAuth("admin", password)
	w := httptest.NewRecorder()
	b.serveHTTP(w, r)
	return w
}

func TestBMCNeedsASystem(t *testing.T) {
	if b, err := Start(Config{Host: "127.0.100.250", Log: &event.Log{}}); err == nil {
		b.Close()
		t.Error("a BMC without a system was started")
	}
}

func TestEveryRouteAnswers(t *testing.T) {
	b := testBMC(t, Quirks{ActionInfo: true, BootSettings: true})
	fill := strings.NewReplacer(
		"{system}", "1", "{manager}", managerID, "{chassis}", "Chassis1", "{media}", "Cd", "{drive}", driveID,
	)
	for pattern, methods := range routeTable() {
		for method := range methods {
			w := b.serve(method, fill.Replace(pattern), "{}")
			// What is left in braces names a part that may not exist.
			if w.Code >= 500 || w.Code == http.StatusMethodNotAllowed ||
				(w.Code == http.StatusNotFound && !strings.Contains(pattern, "{id}")) {
				if !strings.Contains(pattern, "VirtualMedia/") || method != http.MethodPatch {
					t.Errorf("%s %s: %d", method, pattern, w.Code)
				}
			}
		}
	}
}

func FuzzRequest(f *testing.F) {
	b := testBMC(f, Quirks{})
	for pattern, methods := range routeTable() {
		for method := range methods {
			f.Add(method, strings.NewReplacer("{system}", "1", "{media}", "Cd").Replace(pattern), `{"Boot":{},"ResetType":"On","Image":"x","Password":"y"}`)
		}
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if strings.ContainsAny(method, " \r\n\t/") || method == "" || strings.Contains(path, "Accounts/") {
			return // no HTTP request, or one that changes the password
		}
		r, err := http.NewRequest(method, "/", strings.NewReader(body))
		if err != nil {
			return
		}
		r.URL.Path = path
		r.SetBasicAuth("admin", password)
		w := httptest.NewRecorder()
		b.serveHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%s %q %q: %d", method, path, body, w.Code)
		}
	})
}
