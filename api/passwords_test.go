package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

const (
	pinOne = "1111111111111111111111111111111111111111111111111111111111111111"
	pinTwo = "2222222222222222222222222222222222222222222222222222222222222222"
)

// bmcChanges are changes of a node's BMC: of each, whether the stored password
// would reach somebody else by it, or be given without a check.
var bmcChanges = []struct {
	name, patch string
	moves       bool
}{
	{"another host", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "https://192.0.2.99"}]`, true},
	{"another port", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "https://192.0.2.1:8443"}]`, true},
	{"plain http", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "http://192.0.2.1:443"}]`, true},
	{"another system in the address", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "https://192.0.2.1/redfish/v1/Systems/2"}]`, true},
	{"no address", `[{"op": "remove", "path": "/driver_info/redfish_address"}]`, true},
	{"no pin", `[{"op": "remove", "path": "/driver_info/redfish_tls_spki_sha256"}]`, true},
	{"another pin", `[{"op": "replace", "path": "/driver_info/redfish_tls_spki_sha256", "value": "` + pinTwo + `"}]`, true},
	{"another system", `[{"op": "add", "path": "/driver_info/redfish_system_id", "value": "/redfish/v1/Systems/2"}]`, true},
	{"another account", `[{"op": "replace", "path": "/driver_info/redfish_username", "value": "other"}]`, true},
	{"another kind of login", `[{"op": "add", "path": "/driver_info/redfish_auth_type", "value": "basic"}]`, true},
	{"no check of the certificate", `[{"op": "add", "path": "/driver_info/redfish_verify_ca", "value": false}]`, true},
	{"another driver", `[{"op": "replace", "path": "/driver", "value": "fake-hardware"}]`, true},
	{"the attack", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "https://192.0.2.99"},
		{"op": "remove", "path": "/driver_info/redfish_tls_spki_sha256"}, {"op": "add", "path": "/driver_info/redfish_verify_ca", "value": "false"}]`, true},
	{"a mask is no password", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "192.0.2.99"}, {"op": "replace", "path": "/driver_info/redfish_password", "value": "******"}]`, true},
	{"the whole of driver_info", `[{"op": "replace", "path": "/driver_info", "value": {"redfish_address": "192.0.2.99", "redfish_username": "admin", "redfish_password": "******"}}]`, true},
	{"another spelling of the address", `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "REDFISH://192.0.2.1:443/"}]`, false},
	{"another spelling of the pin", `[{"op": "replace", "path": "/driver_info/redfish_tls_spki_sha256", "value": "` + strings.ToUpper(pinOne) + `"}]`, false},
	{"what holds anyway", `[{"op": "add", "path": "/driver_info/redfish_auth_type", "value": "auto"}, {"op": "add", "path": "/driver_info/redfish_verify_ca", "value": "True"}]`, false},
	{"something else", `[{"op": "add", "path": "/driver_info/deploy_kernel", "value": "http://192.0.2.9/k"}, {"op": "add", "path": "/extra/x", "value": 1}]`, false},
}

// A change of the BMC by somebody who does not act for the system does not carry
// the stored password along; the system's does, sealed for the BMC as it is now.
func TestAChangeOfTheBMCAndItsPassword(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := serveStore(t, db, append(keystoneSettings(t), "conductor.node_history=true")...)
		for _, who := range []string{"member@blue", "admin@blue", "member@system", "admin@system"} {
			for _, c := range bmcChanges {
				password := canary()
				uuid := s.as("admin@system", "POST", "/v1/nodes", fmt.Sprintf(`{"driver": "redfish", "owner": "blue", "driver_info": {
					"redfish_address": "https://192.0.2.1", "redfish_username": "admin", "redfish_password": %q, "redfish_tls_spki_sha256": %q}}`, password, pinOne)).want(201).object()["uuid"].(string)
				ref := metal.DriverInfoSecrets(uuid).Below("redfish_password").Ref()
				before := s.sealedFor(ref)
				if a := s.as(who, "PATCH", "/v1/nodes/"+uuid, c.patch); a.Code == 403 && who == "member@blue" && c.name == "another driver" {
					continue // the policy on drivers
				} else {
					a.want(200)
				}
				told := s.as("admin@system", "GET", "/v1/nodes/"+uuid+"/history?detail=true", "").want(200).Body.String()
				dropped := c.moves && strings.HasSuffix(who, "@blue")
				switch now := s.row(uuid).DriverInfo.Text("redfish_password"); {
				case dropped && (now != "" || s.holds(ref)):
					t.Errorf("%s, by %s: the row has %q, the password is stored: %v", c.name, who, now, s.holds(ref))
				case !dropped && now != ref:
					t.Errorf("%s, by %s: the row has %q", c.name, who, now)
				case !dropped && s.value(ref) != password:
					t.Errorf("%s, by %s: the password is %q", c.name, who, s.value(ref))
				}
				if said := strings.Contains(told, "redfish_password"); said != c.moves || c.moves && strings.Contains(told, "deleted") != dropped {
					t.Errorf("%s, by %s: the history is %s", c.name, who, told)
				}
				if !dropped && before != s.sealedFor(ref) {
					sealed, err := s.store.SealedSecret(t.Context(), ref)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := s.sealer.Open(sealed.Name(before), sealed.Sealed); err == nil {
						t.Errorf("%s, by %s: the password opens for the BMC before", c.name, who)
					}
				}
			}
		}
	})
}

func (s *served) holds(ref string) bool {
	s.t.Helper()
	_, err := s.store.SealedSecret(s.t.Context(), ref)
	if err != nil && metal.ReasonOf(err) != metal.NotFound {
		s.t.Fatal(err)
	}
	return err == nil
}

// The way of Metal3: address and credentials in one list of operations.
func TestAPasswordThatComesWithTheAddressIsKept(t *testing.T) {
	t.Parallel()
	s := serve(t, keystoneSettings(t)...)
	for _, who := range []string{"member@blue", "member@system"} {
		for _, patch := range []string{
			`[{"op": "add", "path": "/driver_info/redfish_address", "value": "https://192.0.2.99"}, {"op": "add", "path": "/driver_info/redfish_username", "value": "root"},
				{"op": "add", "path": "/driver_info/redfish_verify_ca", "value": false}, {"op": "add", "path": "/driver_info/redfish_password", "value": "%s"}]`,
			`[{"op": "replace", "path": "/driver_info", "value": {"redfish_address": "https://192.0.2.99", "redfish_username": "root", "redfish_password": "%s"}}]`,
		} {
			uuid := s.as("admin@system", "POST", "/v1/nodes", `{"driver": "redfish", "owner": "blue", "driver_info": {
				"redfish_address": "https://192.0.2.1", "redfish_username": "admin", "redfish_password": "obviously-fake"}}`).want(201).object()["uuid"].(string)
			password := canary()
			s.as(who, "PATCH", "/v1/nodes/"+uuid, fmt.Sprintf(patch, password)).want(200)
			ref := metal.DriverInfoSecrets(uuid).Below("redfish_password").Ref()
			if got := s.value(ref); got != password || s.row(uuid).DriverInfo.Text("redfish_password") != ref {
				t.Errorf("%s: the password is %q, the row has %s", who, got, s.row(uuid).DriverInfo)
			}
		}
	}
}

// Without scopes everybody acts for the system.
func TestWithoutScopesThePasswordFollows(t *testing.T) {
	t.Parallel()
	s := serve(t)
	uuid := s.node(`{"driver": "redfish", "driver_info": {"redfish_address": "192.0.2.1", "redfish_password": "obviously-fake"}}`)
	s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "192.0.2.2"}]`).want(200)
	ref := metal.DriverInfoSecrets(uuid).Below("redfish_password").Ref()
	if got := s.value(ref); got != "obviously-fake" {
		t.Errorf("the password is %q", got)
	}
	// One that was moved in the database does not follow.
	s.put(uuid, func(n *metal.Node) { n.DriverInfo = n.DriverInfo.With("redfish_address", "192.0.2.66") })
	a := s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, `[{"op": "replace", "path": "/driver_info/redfish_address", "value": "192.0.2.3"}]`).want(409)
	if !strings.Contains(a.Body.String(), "Give it again") {
		t.Errorf("the answer is %s", a.Body)
	}
}
