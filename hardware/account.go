package hardware

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"ferrule/metal"
)

// account is where driver_info keeps the password of an account on a BMC, and
// what says to whom the password is given. The password is meant for these
// values: a change of one sends it elsewhere, or to somebody who is not asked who
// he is.
type account struct {
	password string
	address  string
	pin      string            // of the BMC's key
	others   map[string]string // further keys that count, each with its default
}

// accounts are all that there are. Each counts for every node that has its
// password, whatever the node's hardware type is at the moment.
var accounts = []account{
	{
		password: "redfish_password", address: "redfish_address", pin: "redfish_tls_spki_sha256",
		others: map[string]string{
			"redfish_system_id": "", "redfish_username": "", "redfish_auth_type": "auto", "redfish_verify_ca": "true",
		},
	},
}

// MovedPassword is the stored password of a BMC that a change of the node would
// send elsewhere.
type MovedPassword struct {
	Key     string   // of driver_info
	Changed []string // what is changed of the node
}

// MovedPasswords are those of after. One that comes with the change is not among
// them: whoever gives it says for which BMC it is.
func MovedPasswords(before, after *metal.Node) []MovedPassword {
	var moved []MovedPassword
	was, is := before.DriverInfo.Object(), after.DriverInfo.Object()
	for _, a := range accounts {
		stored, _ := was[a.password].(string)
		if stored == "" || is[a.password] != any(stored) && is[a.password] != any(metal.Masked) {
			continue
		}
		changed := a.changed(was, is)
		if before.Driver != after.Driver {
			changed = append(changed, "driver")
		}
		if before.ConductorGroup != after.ConductorGroup {
			changed = append(changed, "conductor_group") // at another site another machine may have the address
		}
		if len(changed) > 0 {
			moved = append(moved, MovedPassword{a.password, changed})
		}
	}
	return moved
}

// changed are the keys whose values differ in meaning, in order.
func (a account) changed(was, is map[string]any) []string {
	var keys []string
	if sameAddress := endpoint(was, a.address) == endpoint(is, a.address); !sameAddress {
		keys = append(keys, a.address)
	}
	if normalPin(was[a.pin]) != normalPin(is[a.pin]) {
		keys = append(keys, a.pin)
	}
	for key, otherwise := range a.others {
		if setting(was[key], otherwise) != setting(is[key], otherwise) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// endpoint is an address with its path; one that cannot be read is itself.
func endpoint(info map[string]any, key string) Endpoint {
	text := strings.TrimSpace(setting(info[key], ""))
	e, why := ParseEndpoint(text)
	if why != "" {
		return Endpoint{Host: text}
	}
	e.Path = strings.TrimRight(e.Path, "/")
	return e
}

// setting is a value as text. Booleans come as such and as texts.
func setting(v any, otherwise string) string {
	if v == nil || v == "" {
		return otherwise
	}
	text := fmt.Sprint(v)
	if lower := strings.ToLower(text); lower == "true" || lower == "false" {
		return lower
	}
	return text
}

func normalPin(v any) string { return strings.ToLower(strings.ReplaceAll(setting(v, ""), ":", "")) }

// Binding is what the request's password is sealed for: the host and the port, by
// TLS or not, and the pin of the BMC's key. For others it does not open.
func Binding(r *metal.Request) string { return binding(r.Address, r.TLSSPKISHA256) }

func binding(address string, pin any) string {
	e := endpoint(map[string]any{"": address}, "")
	scheme := "https"
	if e.Plain {
		scheme = "http"
	}
	return string(metal.ToJSON([]string{scheme, net.JoinHostPort(e.Host, e.Port), normalPin(pin)}))
}

// SealedFor is what the secret under ref is sealed for: the binding of the BMC
// whose password it is, "" for any other secret of the node.
func SealedFor(n *metal.Node, ref string) string {
	for _, a := range accounts {
		if metal.DriverInfoSecrets(n.UUID).Below(a.password).Ref() == ref {
			info := n.DriverInfo.Object()
			return binding(setting(info[a.address], ""), info[a.pin])
		}
	}
	return ""
}
