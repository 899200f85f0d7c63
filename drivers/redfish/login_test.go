package redfish

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

func (b *emulated) sessionTarget(auth string) driver.Target {
	b.sessions = true
	t := b.target()
	t.Options = driver.Options{optAuthType: auth}
	return t
}

func (b *emulated) openSessions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.tokens)
}

func TestOneSessionIsKeptAndEnded(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.sessionTarget(authAuto)
	for range 50 {
		want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	}
	if logins := b.seen("POST /redfish/v1/Elsewhere/Sessions"); len(logins) != 1 {
		t.Errorf("%d logins for 50 reads", len(logins))
	}
	for _, r := range b.seen("GET " + sys) {
		if r.header.Get("Authorization") != "" || r.header.Get("X-Auth-Token") == "" {
			t.Fatal("a read carries the password though there is a session")
		}
	}
	if err := d.Close(t.Context()); err != nil || b.openSessions() != 0 {
		t.Errorf("after Close: %d sessions, %v", b.openSessions(), err)
	}
}

func TestADroppedSessionIsOpenedAnew(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.sessionTarget(authSession)
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	b.mu.Lock()
	clear(b.tokens)
	b.mu.Unlock()
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	if b.openSessions() != 1 {
		t.Errorf("%d sessions", b.openSessions())
	}
}

func TestNewCredentialsEndTheOldSession(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	want[metal.PowerResult](t)(d.GetPower(t.Context(), b.sessionTarget(authAuto)))
	b.mu.Lock()
	b.pass += "2"
	b.mu.Unlock()
	want[metal.PowerResult](t)(d.GetPower(t.Context(), b.sessionTarget(authAuto)))
	if b.openSessions() != 1 {
		t.Errorf("%d sessions", b.openSessions())
	}
}

func TestWithoutASessionServiceBasicIsUsed(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.target()
	target.Options = driver.Options{}
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	if logins := b.seen("POST /redfish/v1/Elsewhere/Sessions"); len(logins) != 1 {
		t.Errorf("%d attempts at a session", len(logins))
	}
	target.Options = driver.Options{optAuthType: authSession}
	_, err := d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeBMCError, "404", "Sessions")
}

func TestAllSessionsTakenMeansBasicForOneOperation(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.sessionTarget(authAuto)
	full := true
	b.on("POST /redfish/v1/Elsewhere/Sessions", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		if full {
			refuse(w, 503, "GeneralError", "The maximum number of user sessions is reached")
		}
		return full
	})
	want[metal.PowerResult](t)(d.SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOn}))
	if logins := b.seen("POST /redfish/v1/Elsewhere/Sessions"); len(logins) != 1 {
		t.Errorf("%d attempts at a session in one operation", len(logins))
	}
	full = false
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
	if b.openSessions() != 1 {
		t.Error("no session after slots were free again")
	}
}

func TestOddPasswordsArriveByteForByte(t *testing.T) {
	for _, password := range []string{`pa$s'w"o;r|d &`, "12345678", "-C3", "p@ss:w/rd#?%41", "päss", "", "<&>"} {
		for _, auth := range []string{authBasic, authSession} {
			b, d := newBMC(t), newDriver(t)
			b.pass = password
			target := b.sessionTarget(auth)
			want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
		}
	}
}

func TestTheUserNameMayComeWithTheOptions(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.target()
	target.Credentials.Username = ""
	target.Options[optUsername] = b.user
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
}

func TestCertificatesAreJudged(t *testing.T) {
	b := newBMC(t)
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte(b.certificate()), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, code := range map[string]metal.ErrorCode{
		"":                                 metal.CodeCertificate,
		"true":                             metal.CodeCertificate,
		"True":                             metal.CodeCertificate,
		"false":                            "",
		"False":                            "",
		b.certificate():                    "",
		file:                               "",
		filepath.Dir(file):                 "",
		"/nowhere/ca.pem":                  metal.CodeInvalidConfig,
		"ca.pem":                           metal.CodeInvalidConfig,
		"/dev/zero":                        metal.CodeInvalidConfig,
		"-----BEGIN CERTIFICATE-----\nx\n": metal.CodeInvalidConfig,
	} {
		d := newDriver(t)
		target := b.target()
		target.TLSSPKISHA256 = ""
		target.Options[optVerifyCA] = value
		_, err := d.GetPower(t.Context(), target)
		switch {
		case code == "" && err != nil:
			t.Errorf("redfish_verify_ca %.40q: %v", value, err)
		case code == metal.CodeCertificate:
			expect(t, err, code, "certificate", b.address(), "redfish_verify_ca")
		case code != "":
			expect(t, err, code, "redfish_verify_ca")
		}
	}
}

func TestAWrongNameIsNoticed(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	target := b.target()
	target.TLSSPKISHA256 = ""
	target.Address = strings.Replace(target.Address, "127.0.0.1", "localhost", 1)
	target.Options[optVerifyCA] = b.certificate()
	_, err := d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeCertificate, "localhost")
}

func TestPlainHTTPOnlyWhereTheSiteAllowsIt(t *testing.T) {
	b := newBMC(t)
	plain := http.Server{Handler: http.HandlerFunc(b.serve)}
	address := serveOn(t, &plain)
	target := b.target()
	target.TLSSPKISHA256, target.Address = "", "http://"+address
	_, err := newDriver(t).GetPower(t.Context(), target)
	expect(t, err, metal.CodeInvalidAddress, "plain http")
	want[metal.PowerResult](t)(newDriver(t, "127.0.0.0/8").GetPower(t.Context(), target))
	// A name is judged by the address behind it.
	target.Address = "http://" + strings.Replace(address, "127.0.0.1", "localhost", 1)
	_, err = newDriver(t, "192.0.2.0/24").GetPower(t.Context(), target)
	expect(t, err, metal.CodeInvalidAddress, "no network")
	// https to a server without TLS says what is wrong.
	target.Address = address
	_, err = newDriver(t).GetPower(t.Context(), target)
	expect(t, err, metal.CodeUnreachable, address)
}

func TestOneCommandAtATimeForEachBMC(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	inside, leave := make(chan struct{}), make(chan struct{})
	b.on("POST "+sys+"/Actions/ComputerSystem.Reset", func(http.ResponseWriter, *http.Request, object) bool {
		close(inside)
		<-leave
		return false
	})
	done := make(chan error)
	go func() {
		_, err := d.SetPower(context.WithoutCancel(t.Context()), b.target(), metal.SetPowerArgs{Target: metal.PowerOn})
		done <- err
	}()
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	spelled := b.target()
	spelled.Address = "redfish://" + spelled.Address + "/redfish/v1/"
	_, err := d.GetPower(ctx, spelled)
	expect(t, err, metal.CodeUnreachable, "busy")
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
	want[metal.PowerResult](t)(d.GetPower(t.Context(), spelled))
}

func TestABMCThatHidesItsLackOfSessionsFromStrangers(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("GET /redfish/v1/", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		answer(w, 200, object{"RedfishVersion": "1.6.0", "UUID": 7})
		return true
	})
	b.on("POST "+wellKnownSessions, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		w.WriteHeader(401)
		return true
	})
	target := b.target()
	target.Options = driver.Options{}
	want[metal.PowerResult](t)(d.GetPower(t.Context(), target))
}

func TestSystemsBehindOneBMCShareASession(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	other := "/redfish/v1/Systems/2"
	b.set(other, object{"PowerState": "On", "Actions": object{"#ComputerSystem.Reset": object{
		"target": other + "/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": []string{"ForceOff"}}}})
	first, second := b.sessionTarget(authAuto), b.sessionTarget(authAuto)
	first.Options[optSystemID], second.Options[optSystemID] = "1", "2"
	for range 3 {
		want[metal.PowerResult](t)(d.SetPower(t.Context(), first, metal.SetPowerArgs{Target: metal.PowerOn}))
		want[metal.PowerResult](t)(d.SetPower(t.Context(), second, metal.SetPowerArgs{Target: metal.PowerOff}))
	}
	_, err := d.SetPower(t.Context(), second, metal.SetPowerArgs{Target: metal.PowerOn})
	expect(t, err, metal.CodeUnsupported, other, "ForceOff") // what the one can do is not taken from the other
	if logins := b.seen("POST /redfish/v1/Elsewhere/Sessions"); len(logins) != 1 {
		t.Errorf("%d logins", len(logins))
	}
	if posts := b.seen("POST " + sys); len(posts) != 1 {
		t.Errorf("%d resets of the first", len(posts))
	}
}
