package hardware_test

import (
	"slices"
	"strings"
	"testing"

	"ferrule/hardware"
	"ferrule/metal"
)

// All spellings of one BMC have one binding, and no two BMCs have the same.
func TestABindingIsOfOneBMC(t *testing.T) {
	pin := strings.Repeat("ab", 32)
	groups := [][]metal.Request{
		{
			{Address: "192.0.2.7"}, {Address: "192.0.2.7:443"}, {Address: "https://192.0.2.7/"}, {Address: "REDFISH://192.0.2.7:0443/redfish/v1/Systems/1"},
			{Address: "[::ffff:192.0.2.7]"},
		},
		{{Address: "192.0.2.7", TLSSPKISHA256: pin}, {Address: "https://192.0.2.7:443", TLSSPKISHA256: strings.ToUpper(pin)}},
		{{Address: "192.0.2.7", TLSSPKISHA256: strings.Repeat("cd", 32)}},
		{{Address: "192.0.2.7:444"}},
		{{Address: "192.0.2.8"}},
		{{Address: "http://192.0.2.7"}, {Address: "HTTP://192.0.2.7:80/"}},
		{{Address: "http://192.0.2.7:443"}},
		{{Address: "2001:db8::7"}, {Address: "[2001:DB8:0::7]:443"}, {Address: "https://[2001:db8:0:0::7]"}},
		{{Address: "bmc.example.org"}, {Address: "BMC.Example.org."}, {Address: "https://bmc.example.org:443"}},
		{{Address: "bmc.example.org.evil"}},
		{{Address: ""}},
		{{Address: "192.0.2.7@evil"}},
	}
	seen := map[string]int{}
	for i, group := range groups {
		for _, r := range group {
			b := hardware.Binding(&r)
			if other, ok := seen[b]; ok && other != i {
				t.Errorf("%+v has the binding of group %d: %s", r, other, b)
			}
			seen[b] = i
			if b != hardware.Binding(&group[0]) {
				t.Errorf("%+v: %s, want %s", r, b, hardware.Binding(&group[0]))
			}
		}
	}
}

// A secret is sealed for the BMC that a command about it names.
func TestAPasswordIsSealedForTheBMCOfItsNode(t *testing.T) {
	n := &metal.Node{UUID: "n", Driver: "redfish"}
	ref := metal.DriverInfoSecrets("n").Below("redfish_password").Ref()
	n.DriverInfo = metal.ToJSON(map[string]any{"redfish_address": "BMC:443", "redfish_password": ref, "redfish_tls_spki_sha256": strings.Repeat("AB", 32)})
	r, err := requestFor(t, n)
	if err != nil {
		t.Fatal(err)
	}
	if got := hardware.SealedFor(n, ref); got != hardware.Binding(&r) || got == "" {
		t.Errorf("sealed for %q, the command is for %q", got, hardware.Binding(&r))
	}
	for _, other := range []string{
		metal.DriverInfoSecrets("n").Below("vendor/redfish_password").Ref(), metal.InstanceInfoSecrets("n").Below("redfish_password").Ref(),
		metal.DriverInfoSecrets("m").Below("redfish_password").Ref(), metal.RamdiskToken("n").Ref(),
	} {
		if got := hardware.SealedFor(n, other); got != "" {
			t.Errorf("%s is sealed for %q", other, got)
		}
	}
}

// At another site another machine may answer at the same address.
func TestAChangeOfTheSiteMovesThePassword(t *testing.T) {
	before := metal.Node{Driver: "redfish", DriverInfo: metal.ToJSON(map[string]any{"redfish_address": "192.0.2.1", "redfish_password": "ref"})}
	after := before
	after.ConductorGroup = "lisbon"
	moved := hardware.MovedPasswords(&before, &after)
	if len(moved) != 1 || moved[0].Key != "redfish_password" || !slices.Equal(moved[0].Changed, []string{"conductor_group"}) {
		t.Errorf("moved are %+v", moved)
	}
}
