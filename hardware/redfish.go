package hardware

import (
	"fmt"
	"strings"

	"ferrule/metal"
)

// redfishProperties are the driver_info keys of all that speaks Redfish.
var redfishProperties = []Property{
	{Key: "redfish_address", Required: true, Help: "Address of the BMC: a URL, or a host with an optional port (https is assumed)."},
	{Key: "redfish_system_id", Help: "Path of the system behind the BMC, for example /redfish/v1/Systems/1. Needed where the BMC has several systems."},
	{Key: "redfish_username", Help: "Account on the BMC, with administrator or operator rights."},
	{Key: "redfish_password", Secret: true, Help: "Password of the account. It is moved to the sealed store."},
	{Key: "redfish_verify_ca", Help: "true (system roots, the default), false (no verification), or the path of a CA bundle at the site."},
	{Key: "redfish_auth_type", Help: "auto (the default), session or basic."},
	{Key: "redfish_tls_minimum_version", Help: "The oldest TLS version to speak to the BMC: 1.1, 1.2 (the default) or 1.3."},
	{Key: "redfish_tls_ciphers", Help: "The cipher suites to offer the BMC in TLS 1.2 and older, by their OpenSSL names, with colons between; DEFAULT stands for the usual ones."},
	{Key: "redfish_tls_spki_sha256", Help: "SHA-256 of the public key that the BMC's certificate must have, in hex. Takes the place of redfish_verify_ca."},
}

// redfishOptions are the driver_info keys that travel as options of the driver,
// by its name of each.
var redfishOptions = map[string]string{
	"redfish_system_id": "redfish_system_id", "redfish_verify_ca": "redfish_verify_ca",
	"redfish_auth_type": "redfish_auth_type", "redfish_username": "username",
	"redfish_tls_minimum_version": "redfish_tls_minimum_version", "redfish_tls_ciphers": "redfish_tls_ciphers",
}

func redfishRequest(n *metal.Node) (metal.Request, error) {
	var r metal.Request
	info := n.DriverInfo.Object()
	address, _ := info["redfish_address"].(string)
	if strings.TrimSpace(address) == "" {
		return r, metal.Errorf(metal.Invalid, "Missing the following required Redfish properties in node %s's driver_info: ['redfish_address']", n.Label())
	}
	r.Address = address
	options := map[string]string{}
	for key, option := range redfishOptions {
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
	if pin, _ := info["redfish_tls_spki_sha256"].(string); pin != "" {
		r.TLSSPKISHA256 = strings.ToLower(pin)
		if len(pin) != 64 || strings.Trim(r.TLSSPKISHA256, "0123456789abcdef") != "" {
			return r, metal.Errorf(metal.Invalid, "Invalid redfish_tls_spki_sha256 in node %s's driver_info: it is 64 hexadecimal digits.", n.Label())
		}
	}
	r.DriverOptionsJSON = []byte(metal.ToJSON(options))
	return r, nil
}
