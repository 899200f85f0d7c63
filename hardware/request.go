package hardware

import (
	"fmt"
	"strings"

	"ferrule/metal"
)

// property is one key of driver_info.
type property struct {
	key      string
	help     string
	required bool
}

// driverProperties are the driver_info keys of each implementation that has
// some (Ironic: get_properties of each interface).
var driverProperties = map[metal.InterfaceType]map[string][]property{
	metal.PowerInterface:      {"redfish": redfishProperties},
	metal.ManagementInterface: {"redfish": redfishProperties},
	metal.InspectInterface:    {"redfish": redfishProperties},
	metal.BootInterface:       {"redfish-virtual-media": append(redfishProperties[:len(redfishProperties):len(redfishProperties)], ramdiskProperties...)},
	metal.DeployInterface:     {"direct": deployProperties, "autodetect": deployProperties},
	metal.VendorInterface:     {"fake": {{"B1", "An example of a required value.", true}, {"B2", "Another example of a required value.", true}}},
}

var redfishProperties = []property{
	{"redfish_address", "Address of the BMC: a URL, or a host with an optional port (https is assumed).", true},
	{"redfish_system_id", "Path of the system behind the BMC, for example /redfish/v1/Systems/1. Needed where the BMC has several systems.", false},
	{"redfish_username", "Account on the BMC, with administrator or operator rights.", false},
	{"redfish_password", "Password of the account. It is moved to the sealed store.", false},
	{"redfish_verify_ca", "true (system roots, the default), false (no verification), or the path of a CA bundle at the site.", false},
	{"redfish_auth_type", "auto (the default), session or basic.", false},
	{"redfish_tls_minimum_version", "The oldest TLS version to speak to the BMC: 1.1, 1.2 (the default) or 1.3.", false},
	{"redfish_tls_ciphers", "The cipher suites to offer the BMC in TLS 1.2 and older, by their OpenSSL names, with colons between; DEFAULT stands for the usual ones.", false},
	{"redfish_tls_spki_sha256", "SHA-256 of the public key that the BMC's certificate must have, in hex. Takes the place of redfish_verify_ca.", false},
}

var ramdiskProperties = []property{
	{"deploy_kernel", "URL of the kernel that the deploy ramdisk is booted with.", false},
	{"deploy_ramdisk", "URL of the deploy ramdisk.", false},
	{"deploy_iso", "URL of a ready ISO to use in place of kernel and ramdisk.", false},
	{"rescue_kernel", "URL of the kernel that the rescue ramdisk is booted with.", false},
	{"rescue_ramdisk", "URL of the rescue ramdisk.", false},
	{"rescue_iso", "URL of a ready ISO to use in place of the two.", false},
	{"bootloader", "URL of an EFI system partition image for a bootable ISO.", false},
	{"kernel_append_params", "Further words for the ramdisk's kernel line; %default% stands for the configured ones.", false},
}

var deployProperties = []property{
	{"image_download_source", "http, local or swift: all the same here, as the ramdisk downloads the image from its URL.", false},
	{"force_persistent_boot_device", "Never: a deployed machine is to start from its disk once, and then as its firmware will; else always.", false},
	{"image_http_proxy", "Proxy for http downloads of the image.", false},
	{"image_https_proxy", "Proxy for https downloads of the image.", false},
	{"image_no_proxy", "Hosts that are reached without the proxy.", false},
	{"agent_verify_ca", "true, false, or the path of a CA bundle with which the ramdisk's own API is verified.", false},
	{"deploy_forces_oob_reboot", "Restart through the BMC at the end of a deployment, not through the ramdisk.", false},
}

// DriverProperties is the text map of GET /v1/drivers/{name}/properties.
func (c *Catalogue) DriverProperties(hw string) map[string]string {
	props := map[string]string{}
	for _, t := range metal.InterfaceTypes() {
		name, err := c.DefaultInterface(hw, t)
		if err != nil {
			continue
		}
		for _, p := range driverProperties[t][name] {
			help := p.help
			if p.required {
				help += " Required."
			}
			props[p.key] = help
		}
	}
	return props
}

// RequestFor is the part of a Request that says which BMC and how: driver,
// address, credentials, pin and options, from the node's driver_info.
func RequestFor(n *metal.Node, op metal.Operation) (metal.Request, error) {
	h := ""
	for _, t := range hardwareTypes {
		if t.Name == n.Driver {
			h = t.Driver
		}
	}
	if op.Concern() == metal.Management && n.ManagementInterface == "noop" {
		h = "manual" // takes pxe and disk, and does nothing
	}
	r := metal.Request{Driver: h, Operation: op}
	switch h {
	case "redfish":
		return redfishRequest(n, r)
	case "fake", "manual":
		// Their power is what the node's row says.
		state := ""
		if n.PowerState != nil {
			state = *n.PowerState
		}
		r.DriverOptionsJSON = []byte(metal.ToJSON(map[string]string{"power_state": state}))
		return r, nil
	}
	return r, metal.Errorf(metal.Invalid, "The driver %q of node %s is not built in.", n.Driver, n.Label())
}

func redfishRequest(n *metal.Node, r metal.Request) (metal.Request, error) {
	info := n.DriverInfo.Object()
	address, _ := info["redfish_address"].(string)
	if strings.TrimSpace(address) == "" {
		return r, metal.Errorf(metal.Invalid, "Missing the following required Redfish properties in node %s's driver_info: ['redfish_address']", n.Label())
	}
	r.Address = address
	options := map[string]string{}
	for key, option := range map[string]string{
		"redfish_system_id": "redfish_system_id", "redfish_verify_ca": "redfish_verify_ca",
		"redfish_auth_type": "redfish_auth_type", "redfish_username": "username",
		"redfish_tls_minimum_version": "redfish_tls_minimum_version", "redfish_tls_ciphers": "redfish_tls_ciphers",
	} {
		if v, ok := info[key]; ok && v != nil {
			options[option] = fmt.Sprint(v)
		}
	}
	if t := options["redfish_auth_type"]; t != "" && t != "auto" && t != "basic" && t != "session" {
		return r, metal.Errorf(metal.Invalid, "Invalid value %q for redfish_auth_type in node %s's driver_info: it is auto, basic or session.", t, n.Label())
	}
	if v := options["redfish_tls_minimum_version"]; v != "" && v != "1.1" && v != "1.2" && v != "1.3" {
		return r, metal.Errorf(metal.Invalid, "Invalid value %q for redfish_tls_minimum_version in node %s's driver_info: it is 1.1, 1.2 or 1.3.", v, n.Label())
	}
	if ref, _ := info["redfish_password"].(string); ref != "" {
		r.CredentialsRef = ref
	}
	if err := r.CheckSecrets(n.UUID); err != nil {
		return r, err
	}
	if pin, _ := info["redfish_tls_spki_sha256"].(string); pin != "" {
		r.TLSSPKISHA256 = strings.ToLower(pin)
		if len(pin) != 64 || strings.Trim(r.TLSSPKISHA256, "0123456789abcdef") != "" {
			return r, metal.Errorf(metal.Invalid, "Invalid redfish_tls_spki_sha256 in node %s's driver_info: it is 64 hexadecimal digits.", n.Label())
		}
	}
	r.DriverOptionsJSON = []byte(metal.ToJSON(options))
	return r, nil
}
