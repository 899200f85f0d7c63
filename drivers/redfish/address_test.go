package redfish

import (
	"net/netip"
	"strings"
	"testing"

	"ferrule/drivers/driver"
	"ferrule/hardware"
	"ferrule/metal"
)

var labNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

func TestAddressesThatAreTaken(t *testing.T) {
	for raw, want := range map[string]address{
		"bmc.example.org":                     {host: "bmc.example.org", port: "443"},
		"BMC.Example.org.":                    {host: "bmc.example.org", port: "443"},
		"bmc:8443":                            {host: "bmc", port: "8443"},
		"192.0.2.7":                           {host: "192.0.2.7", port: "443"},
		"192.0.2.7:08443":                     {host: "192.0.2.7", port: "8443"},
		"https://192.0.2.7":                   {host: "192.0.2.7", port: "443"},
		"HTTPS://192.0.2.7/":                  {host: "192.0.2.7", port: "443"},
		"redfish://192.0.2.7:444/redfish/v1/": {host: "192.0.2.7", port: "444"},
		"https://192.0.2.7/redfish/v1/Systems/Bay.1-A_b": {host: "192.0.2.7", port: "443", system: "/redfish/v1/Systems/Bay.1-A_b"},
		"192.0.2.7/redfish/v1/Systems/4C4C4544-0/":       {host: "192.0.2.7", port: "443", system: "/redfish/v1/Systems/4C4C4544-0"},
		"2001:db8::5":                {host: "2001:db8::5", port: "443"},
		"2001:DB8:0::5":              {host: "2001:db8::5", port: "443"},
		"[2001:db8::5]":              {host: "2001:db8::5", port: "443"},
		"https://[2001:db8::5]":      {host: "2001:db8::5", port: "443"},
		"https://[2001:db8::5]:8443": {host: "2001:db8::5", port: "8443"},
		"redfish://[2001:db8::5]:8443/redfish/v1/Systems": {host: "2001:db8::5", port: "8443"},
		"[::ffff:192.0.2.7]":                              {host: "192.0.2.7", port: "443"},
		"http://127.0.0.9:8000":                           {host: "127.0.0.9", port: "8000", plain: true},
		"http://[fd00::1]":                                {host: "fd00::1", port: "80", plain: true},
		"http://bmc-in-the-lab":                           {host: "bmc-in-the-lab", port: "80", plain: true},
	} {
		got, err := parseAddress(raw, labNetworks)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", raw, got, err, want)
		}
	}
	a, err := parseAddress("https://[2001:db8::5]:8443", nil)
	if err != nil || a.endpoint() != "https://[2001:db8::5]:8443" {
		t.Errorf("endpoint %q, %v", a.endpoint(), err)
	}
}

// A password is sealed for a host and a port: two addresses have the same binding
// just where they reach the same.
func TestTheBindingOfAnAddressIsWhereItLeads(t *testing.T) {
	all := []string{
		"bmc", "BMC", "bmc.", "bmc:443", "bmc:0443", "https://bmc", "redfish://bmc/", "bmc:444", "http://bmc", "http://bmc:443", "http://bmc:80", "bmc:80",
		"bmc/redfish/v1/Systems/1", "127.0.0.1", "127.0.0.1:443", "[::ffff:127.0.0.1]", "[fd00::1]", "fd00::1", "FD00:0::1", "[fd00::1]:443", "[fd00::1]:444",
	}
	for _, x := range all {
		for _, y := range all {
			a, err := parseAddress(x, labNetworks)
			b, err2 := parseAddress(y, labNetworks)
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			same := hardware.Binding(&metal.Request{Address: x}) == hardware.Binding(&metal.Request{Address: y})
			if same != (a.endpoint() == b.endpoint()) {
				t.Errorf("%q and %q: the same binding %v, %s and %s", x, y, same, a.endpoint(), b.endpoint())
			}
		}
	}
}

// Each kind of refusal, by a text of its reason.
var refusedAddresses = map[string]string{
	"":                                       "empty",
	" 192.0.2.7":                             "blank",
	"192.0.2.7 ":                             "blank",
	"192.0.2.7/redfish/v1/Systems/a b":       "blank",
	"192.0.2.7\n":                            "control",
	"192.0.2.7\x00":                          "control",
	"admin@192.0.2.7":                        "@",
	"https://admin:secret@192.0.2.7":         "@",
	"192.0.2.7?x=1":                          "query",
	"192.0.2.7/redfish/v1/Systems/1?x":       "query",
	"192.0.2.7#x":                            "fragment",
	`https:\\192.0.2.7`:                      "backslash",
	`192.0.2.7\redfish`:                      "backslash",
	"192.0.2.7/redfish/v1/../../etc":         "dot segment",
	"192.0.2.7/redfish/v1/./Systems/1":       "dot segment",
	"192.0.2.7/redfish/v1/%2e%2e/x":          "percent",
	"fe80::1%eth0":                           "percent",
	"ftp://192.0.2.7":                        "scheme",
	"file:///etc/passwd":                     "scheme",
	"ipmi://192.0.2.7":                       "scheme",
	"://192.0.2.7":                           "scheme",
	"https://":                               "host name",
	"https:///redfish/v1":                    "host name",
	"bmc..example":                           "host name",
	"-bmc":                                   "host name",
	"bmc_ü":                                  "host name",
	"127.1":                                  "host name",
	"192.0.2.256":                            "host name",
	"2130706433":                             "host name",
	"0x7f.0x1":                               "host name",
	strings.Repeat("a", 64):                  "host name",
	strings.Repeat("abcdefg.", 40) + "org":   "host name",
	"192.0.2.7:":                             "port",
	"192.0.2.7:0":                            "port",
	"192.0.2.7:65536":                        "port",
	"192.0.2.7:-1":                           "port",
	"192.0.2.7:+1":                           "port",
	"192.0.2.7:https":                        "port",
	"[2001:db8::5":                           "bracket",
	"[192.0.2.7]":                            "IPv6",
	"[bmc]":                                  "IPv6",
	"[2001:db8::5]8443":                      "bracket",
	"2001:db8::zz":                           "port",
	"192.0.2.7/rest/v1":                      "not under /redfish/v1",
	"192.0.2.7/redfish/v10/Systems/1":        "not under /redfish/v1",
	"192.0.2.7/redfish/v1/Managers/1":        "this is a Manager, not a System",
	"192.0.2.7/redfish/v1/Chassis/1":         "this is a Chassis, not a System",
	"192.0.2.7/redfish/v1/Systems/1/Bios":    "names no System",
	"192.0.2.7/redfish/v1/SessionService":    "names no System",
	"192.0.2.7/redfish/v1/Systems//1":        "names no System",
	"http://192.0.2.7":                       "plain http",
	"http://[2001:db8::5]":                   "plain http",
	"HTTP://192.0.2.7/redfish/v1/Systems/1/": "plain http",
}

func TestAddressesThatAreRefused(t *testing.T) {
	for raw, why := range refusedAddresses {
		_, err := parseAddress(raw, labNetworks)
		if err == nil {
			t.Errorf("%q is taken", raw)
			continue
		}
		expect(t, err, metal.CodeInvalidAddress, why)
	}
	_, err := parseAddress("http://bmc", nil)
	expect(t, err, metal.CodeInvalidAddress, "plain http")
}

func TestPathsThatAreNotFollowed(t *testing.T) {
	for path, why := range map[string]string{
		"":                                 "not under",
		"/":                                "not under",
		"/redfish/v1x":                     "not under",
		"/rest/v1/Systems":                 "not under",
		"redfish/v1/Systems":               "not under",
		"https://other/redfish/v1/Systems": "not under",
		"//other/redfish/v1":               "not under",
		"/redfish/v1/../../x":              "dot segment",
		"/redfish/v1/Systems/1?$expand=*":  "query",
		"/redfish/v1/Systems/1#/Fans/0":    "fragment",
		"/redfish/v1/@evil":                "@",
		`/redfish/v1/Systems\1`:            "backslash",
		"/redfish/v1/Systems/a b":          "blank",
		"/redfish/v1/Systems/\t":           "blank",
		"/redfish/v1/%2e%2e/x":             "percent",
		"/redfish/v1//Systems":             "empty segment",
	} {
		err := checkPath(path)
		if err == nil {
			t.Errorf("%q is followed", path)
			continue
		}
		expect(t, err, metal.CodeInvalidAddress, why)
	}
	for _, path := range []string{"/redfish/v1", "/redfish/v1/", "/redfish/v1/Systems/437XR1138R2/VirtualMedia/Cd", "/redfish/v1/Systems/System.Embedded.1:x/"} {
		if err := checkPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestSystemIDs(t *testing.T) {
	for id, want := range map[string]string{
		"": "", "/": "", "1": "/redfish/v1/Systems/1", "/redfish/v1/Systems/1/": "/redfish/v1/Systems/1",
		"/redfish/v1/Systems/4C4C-Aa": "/redfish/v1/Systems/4C4C-Aa", "redfish/v1/Systems/1": "/redfish/v1/Systems/1",
	} {
		got, err := systemPath(id)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", id, got, err, want)
		}
	}
	for id, why := range map[string]string{
		"/redfish/v1":            "no System",
		"/redfish/v1/Systems/":   "no System",
		"/redfish/v1/Managers/1": "this is a Manager, not a System",
		"/etc/passwd":            "not under",
		"..":                     "dot segment",
		"a b":                    "blank",
		"1?x":                    "query",
	} {
		_, err := systemPath(id)
		if err == nil {
			t.Errorf("%q is taken", id)
			continue
		}
		expect(t, err, metal.CodeInvalidConfig, why)
	}
}

func TestTwoSystemsForOneNodeAreRefused(t *testing.T) {
	d := newDriver(t)
	_, err := d.parse(driver.Target{Address: "bmc/redfish/v1/Systems/1", Options: driver.Options{optSystemID: "2"}})
	expect(t, err, metal.CodeInvalidConfig, "/redfish/v1/Systems/1", "/redfish/v1/Systems/2")
	a, err := d.parse(driver.Target{Address: "bmc/redfish/v1/Systems/1", Options: driver.Options{optSystemID: "1"}})
	if err != nil || a.system != "/redfish/v1/Systems/1" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestPins(t *testing.T) {
	d := newDriver(t, "127.0.0.0/8")
	good := strings.Repeat("0A", 32)
	for _, pin := range []string{good, strings.Repeat("0a:", 31) + "0a"} {
		a, err := d.parse(driver.Target{Address: "bmc", TLSSPKISHA256: pin})
		if err != nil || a.pin != strings.ToLower(good) {
			t.Errorf("%q: %q, %v", pin, a.pin, err)
		}
	}
	for _, pin := range []string{"0a", good + "00", strings.Repeat("zz", 32)} {
		_, err := d.parse(driver.Target{Address: "bmc", TLSSPKISHA256: pin})
		expect(t, err, metal.CodeInvalidConfig, "redfish_tls_spki_sha256")
	}
	_, err := d.parse(driver.Target{Address: "http://127.0.0.1", TLSSPKISHA256: good})
	expect(t, err, metal.CodePinUnsupported, "plain http")
}

func FuzzAddress(f *testing.F) {
	for raw := range refusedAddresses {
		f.Add(raw)
	}
	f.Add("redfish://[2001:db8::5]:8443/redfish/v1/Systems/1")
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := parseAddress(raw, labNetworks)
		if err != nil {
			return
		}
		if strings.ContainsAny(a.endpoint()+a.system, "@?#\\% ") || a.system != "" && checkPath(a.system) != nil {
			t.Fatalf("%q became %s%s", raw, a.endpoint(), a.system)
		}
		again, err := parseAddress(a.endpoint()+a.system, labNetworks)
		if err != nil || again != a {
			t.Fatalf("%q became %+v, which is read back as %+v, %v", raw, a, again, err)
		}
	})
}

func FuzzFollowedPath(f *testing.F) {
	f.Add("/redfish/v1/Systems/1")
	f.Add("/redfish/v1/%2e%2e/Systems")
	f.Fuzz(func(t *testing.T, path string) {
		if checkPath(path) == nil && (!under(path) || strings.Contains(path, "..") && strings.Contains(path, "/../")) {
			t.Fatalf("%q is followed", path)
		}
	})
}
