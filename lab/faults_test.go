package lab_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"syscall"
	"testing"
	"time"

	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/redfish"
)

func setFaults(t *testing.T, s *lab.Server, f redfish.Faults) {
	t.Helper()
	if err := s.BMC.SetFaults(f); err != nil {
		t.Fatal(err)
	}
}

func TestFaultPassword(t *testing.T) {
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	setFaults(t, s, redfish.Faults{RefusePassword: true})
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil)
	setFaults(t, s, redfish.Faults{})
	c.get(c.system)
}

func TestFaultHang(t *testing.T) {
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	setFaults(t, s, redfish.Faults{Hang: true})
	done := make(chan error, 1)
	go func() {
		_, _, err := c.try(http.MethodGet, c.system, nil)
		done <- err
	}()
	// The request is there before the hang ends.
	for s.BMC.Observed().Requests["GET "+c.system] == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the request did not arrive")
		}
	}
	setFaults(t, s, redfish.Faults{})
	if err := <-done; err != nil {
		t.Errorf("the request that waited: %v", err)
	}
	setFaults(t, s, redfish.Faults{Hang: true})
	c.client.Timeout = 50 * time.Millisecond
	if _, _, err := c.try(http.MethodGet, c.system, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a BMC that hangs: %v", err)
	}
}

func TestFaultConnections(t *testing.T) {
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	c.get(c.system)
	setFaults(t, s, redfish.Faults{RefuseConnections: true})
	if _, _, err := c.try(http.MethodGet, c.system, nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a BMC that refuses: %v", err)
	}
	setFaults(t, s, redfish.Faults{})
	c.get(c.system)
}

func TestFaultCertificate(t *testing.T) {
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.BMC.CertificatePEM()) {
		t.Fatal("no certificate")
	}
	c.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	resp, _, err := c.try(http.MethodGet, c.system, nil)
	if err != nil {
		t.Fatal(err)
	}
	if pin := spki(resp.TLS.PeerCertificates[0]); pin != s.BMC.SPKI() || pin != s.Identity().SPKISHA256 {
		t.Errorf("key %s, announced %s", pin, s.BMC.SPKI())
	}
	setFaults(t, s, redfish.Faults{OtherCertificate: true})
	var unknown x509.UnknownAuthorityError
	if _, _, err := c.try(http.MethodGet, c.system, nil); !errors.As(err, &unknown) {
		t.Errorf("another certificate: %v", err)
	}
	setFaults(t, s, redfish.Faults{})
	c.get(c.system)
}

func spki(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

func TestFaultsOfAnswers(t *testing.T) {
	p := newPlane(t)
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	setFaults(t, s, redfish.Faults{Status: 503})
	c.do(http.StatusServiceUnavailable, http.MethodGet, c.system, nil)
	setFaults(t, s, redfish.Faults{RefuseReset: true})
	c.do(http.StatusInternalServerError, http.MethodPost, resetPath(c), resetBody("On"))
	setFaults(t, s, redfish.Faults{RefuseMedia: true})
	c.do(http.StatusBadRequest, http.MethodPost, c.system+"/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia",
		map[string]any{"Image": p.bootISO()})
}

func TestPlainHTTP(t *testing.T) {
	_, s := start(t, lab.Config{PlainHTTP: true})
	c := newConsole(t, s)
	c.get(c.system)
	if s.BMC.SPKI() != "" {
		t.Error("a key without TLS")
	}
}

func TestLoginsAreCounted(t *testing.T) {
	_, s := start(t, lab.Config{Password: "pa$s'w\"o;r|d &äß"})
	c := newConsole(t, s)
	c.get(c.system)
	c.get(c.system)
	right := c.password
	c.password = "wrong"
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil)
	logins := s.BMC.Observed().Logins
	if len(logins) != 2 || !logins[0].Right || logins[0].Count != 2 || logins[1].Right {
		t.Fatalf("logins: %+v", logins)
	}
	sum := sha256.Sum256([]byte(right))
	if logins[0].PasswordSHA256 != hex.EncodeToString(sum[:]) || logins[0].PasswordSHA256 != s.Identity().PasswordSHA256 {
		t.Error("the digest of the password given is not that of the right one")
	}
	await(t, s, event.Login, "password", "wrong")
	c.username = ""
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil)
	c.do(http.StatusOK, http.MethodGet, "/redfish/v1/", nil)
	c.do(http.StatusOK, http.MethodGet, "/redfish", nil)
}

func TestBadRequestsToTheBMC(t *testing.T) {
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	cases := []struct {
		method, path string
		body         any
		want         int
	}{
		{"GET", "/redfish/v1/Systems/none", nil, 404},
		{"GET", "/redfish/v1/Managers/none", nil, 404},
		{"GET", "/redfish/v1/Chassis/none", nil, 404},
		{"GET", "/redfish/v1/Registries", nil, 404},
		{"GET", c.system + "/VirtualMedia/Floppy", nil, 404},
		{"GET", c.system + "/Storage/9", nil, 404},
		{"GET", "/redfish/v1/TaskService/Tasks/9", nil, 404},
		{"GET", "/elsewhere", nil, 404},
		{"DELETE", c.system, nil, 405},
		{"PATCH", c.system, nil, 400},
		{"PATCH", c.system, []int{1}, 400},
		{"PATCH", c.system, map[string]any{"Boot": 1}, 400},
		{"PATCH", c.system, map[string]any{"Boot": map[string]any{"BootSourceOverrideTarget": nil}}, 400},
		{"PATCH", c.system, map[string]any{"Boot": map[string]any{"BootSourceOverrideTarget": "Moon"}}, 400},
		{"PATCH", c.system, map[string]any{"Boot": map[string]any{"BootSourceOverrideEnabled": "Twice"}}, 400},
		{"PATCH", c.system, map[string]any{"Boot": map[string]any{"Colour": "red"}}, 400},
		{"PATCH", c.system, map[string]any{"PowerState": "On"}, 400},
		{"PATCH", c.system + "/SecureBoot", map[string]any{"SecureBootEnable": "yes"}, 400},
		{"PATCH", c.system + "/SecureBoot", map[string]any{"SecureBootEnable": true}, 204},
		{"POST", resetPath(c), nil, 400},
		{"POST", resetPath(c), map[string]any{"ResetType": 1}, 400},
		{"POST", resetPath(c), map[string]any{"ResetType": "Explode"}, 400},
		{"POST", c.system + "/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", map[string]any{}, 400},
		{"POST", c.system + "/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", map[string]any{"Image": "ftp://x/y"}, 400},
		{"PATCH", "/redfish/v1/Chassis/Chassis1", map[string]any{"IndicatorLED": "Blinking"}, 204},
		{"PATCH", c.system, map[string]any{"IndicatorLED": "Sparkling"}, 400},
	}
	for _, k := range cases {
		resp, doc, err := c.try(k.method, k.path, k.body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != k.want {
			t.Errorf("%s %s %v: %d, want %d: %v", k.method, k.path, k.body, resp.StatusCode, k.want, doc)
		}
	}
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	_, s := start(t, lab.Config{})
	c := newConsole(t, s)
	seen := map[string]bool{}
	var follow func(any)
	visit := func(path string) {
		if !seen[path] {
			seen[path] = true
			follow(c.get(path))
		}
	}
	follow = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if path, ok := v["@odata.id"].(string); ok && len(v) == 1 {
				visit(path)
			}
			for _, inner := range v {
				follow(inner)
			}
		case []any:
			for _, inner := range v {
				follow(inner)
			}
		}
	}
	visit("/redfish/v1/")
	if len(seen) < 25 {
		t.Errorf("only %d resources are reached: %v", len(seen), seen)
	}
}
