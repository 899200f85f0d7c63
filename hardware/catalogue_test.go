package hardware_test

import (
	"testing"

	"ferrule/hardware"
	"ferrule/metal"
)

func catalogue(t *testing.T, on hardware.Enabled) *hardware.Catalogue {
	t.Helper()
	c, err := hardware.NewCatalogue(on, hardware.ValidationSettings{RequireManagedBoot: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// requestFor is what a node's power is asked with.
func requestFor(t *testing.T, n *metal.Node) (metal.Request, error) {
	t.Helper()
	if n.PowerInterface == "" {
		n.PowerInterface = "redfish"
	}
	return catalogue(t, hardware.Enabled{}).Machine(n).Request(metal.PowerGet)
}

func TestEveryHardwareTypeResolvesAllInterfaces(t *testing.T) {
	c := catalogue(t, hardware.Enabled{})
	for _, h := range hardware.Types() {
		n := &metal.Node{Driver: h.Name}
		if err := c.ResolveInterfaces(n); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}

func TestInterfacesAreChecked(t *testing.T) {
	c := catalogue(t, hardware.Enabled{Interfaces: map[metal.InterfaceType][]string{metal.DeployInterface: {"fake", "direct"}}})
	for _, test := range []struct {
		hw, name string
		ok       bool
	}{
		{"fake-hardware", "fake", true},
		{"redfish", "direct", true},
		{"redfish", "fake", false},       // enabled, and not the hardware type's
		{"redfish", "autodetect", false}, // the hardware type's, and not enabled
		{"redfish", "nonesuch", false},
	} {
		err := c.CheckInterface(test.hw, metal.DeployInterface, test.name)
		if (err == nil) != test.ok || (err != nil && metal.ReasonOf(err) != metal.Invalid) {
			t.Errorf("%s with deploy interface %s: %v", test.hw, test.name, err)
		}
	}
}

func TestWhatIsNotBuiltInIsSkipped(t *testing.T) {
	c := catalogue(t, hardware.Enabled{
		HardwareTypes: []string{"ipmi", "redfish"},
		Interfaces:    map[metal.InterfaceType][]string{metal.BootInterface: {"ipxe", "redfish-virtual-media"}},
	})
	if got := c.Skipped(); len(got) != 2 {
		t.Errorf("skipped: %v", got)
	}
	d, err := c.DefaultInterface("redfish", metal.BootInterface)
	if err != nil || d != "redfish-virtual-media" {
		t.Errorf("default boot interface: %q, %v", d, err)
	}
}

// TestWhatNoAgentCarriesOutIsNoDefault: it is taken where it is named, and is the
// default only where the configuration leaves no other.
func TestWhatNoAgentCarriesOutIsNoDefault(t *testing.T) {
	only := func(name string) hardware.Enabled {
		return hardware.Enabled{Interfaces: map[metal.InterfaceType][]string{metal.BootInterface: {name}}}
	}
	named := hardware.Enabled{Defaults: map[metal.InterfaceType]string{metal.BootInterface: "pxe"}}
	for _, test := range []struct {
		on   hardware.Enabled
		of   metal.InterfaceType
		want string
	}{
		{hardware.Enabled{}, metal.BootInterface, "redfish-virtual-media"},
		{hardware.Enabled{}, metal.BIOSInterface, "no-bios"},
		{hardware.Enabled{}, metal.RAIDInterface, "no-raid"},
		{only("ipxe"), metal.BootInterface, "ipxe"},
		{named, metal.BootInterface, "pxe"},
	} {
		got, err := catalogue(t, test.on).DefaultInterface("redfish", test.of)
		if err != nil || got != test.want {
			t.Errorf("default %s interface with %v: %q, %v; want %q", test.of, test.on, got, err, test.want)
		}
	}
	c := catalogue(t, hardware.Enabled{})
	for of, names := range map[metal.InterfaceType][]string{
		metal.BootInterface: {"ipxe", "pxe", "http-ipxe", "http", "redfish-https"},
		metal.BIOSInterface: {"redfish"}, metal.RAIDInterface: {"redfish"},
	} {
		for _, name := range names {
			if err := c.CheckInterface("redfish", of, name); err != nil {
				t.Errorf("%s interface %s: %v", of, name, err)
			}
		}
	}
}

// TestRedfishRAIDTakesNoSCSI: as in Ironic.
func TestRedfishRAIDTakesNoSCSI(t *testing.T) {
	m := catalogue(t, hardware.Enabled{}).Machine(&metal.Node{Driver: "redfish", RAIDInterface: "redfish"})
	disk := map[string]any{"raid_level": "1", "size_gb": "MAX"}
	config := map[string]any{"logical_disks": []any{disk}}
	if err := m.CheckRAIDConfig(config); err != nil {
		t.Errorf("without interface_type: %v", err)
	}
	disk["interface_type"] = "scsi"
	if err := m.CheckRAIDConfig(config); metal.ReasonOf(err) != metal.Invalid {
		t.Errorf("with scsi: %v", err)
	}
}

func TestRedfishRequestTakesNothingSecretButByRef(t *testing.T) {
	n := &metal.Node{Driver: "redfish", UUID: "n", DriverInfo: metal.ToJSON(map[string]any{
		"redfish_address": "https://192.0.2.1", "redfish_username": "admin",
		"redfish_password": metal.DriverInfoSecrets("n").Below("redfish_password").Ref(),
	})}
	r, err := requestFor(t, n)
	if err != nil {
		t.Fatal(err)
	}
	if r.CredentialsRef == "" || r.Address != "https://192.0.2.1" || metal.JSON(r.DriverOptionsJSON).Text("username") != "admin" {
		t.Errorf("request: %+v", r)
	}
	if n.DriverInfo = metal.EmptyObject; metal.ReasonOf(func() error { _, err := requestFor(t, n); return err }()) != metal.Invalid {
		t.Error("a node without redfish_address has a request")
	}
}

func TestRedfishRequestSaysWhichTLS(t *testing.T) {
	info := map[string]any{"redfish_address": "https://192.0.2.1", "redfish_tls_minimum_version": 1.3, "redfish_tls_ciphers": "AES128-SHA"}
	n := &metal.Node{Driver: "redfish", UUID: "n", DriverInfo: metal.ToJSON(info)}
	r, err := requestFor(t, n)
	if err != nil {
		t.Fatal(err)
	}
	options := metal.JSON(r.DriverOptionsJSON)
	if options.Text("redfish_tls_minimum_version") != "1.3" || options.Text("redfish_tls_ciphers") != "AES128-SHA" {
		t.Errorf("options: %s", options)
	}
	info["redfish_tls_minimum_version"] = "1.0"
	n.DriverInfo = metal.ToJSON(info)
	if _, err := requestFor(t, n); metal.ReasonOf(err) != metal.Invalid {
		t.Errorf("TLS 1.0: %v", err)
	}
}
