package redfish

import (
	"net"
	"net/netip"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/hardware"
	"ferrule/metal"
)

// root is where every Redfish service lives; nothing outside it is asked for.
const root = "/redfish/v1"

// address is a BMC's address, parsed once.
type address struct {
	host   string // name in lower case, or an IP literal without brackets
	port   string
	plain  bool   // http, for labs
	system string // path of the System that the address names; "" for none
}

// hostPort identifies the BMC: equal for all spellings of one address.
func (a address) hostPort() string { return net.JoinHostPort(a.host, a.port) }

// endpoint is the URL without a path.
func (a address) endpoint() string {
	if a.plain {
		return "http://" + a.hostPort()
	}
	return "https://" + a.hostPort()
}

// String is how messages name the BMC.
func (a address) String() string {
	if a.port == "443" && !a.plain {
		if strings.Contains(a.host, ":") {
			return "[" + a.host + "]"
		}
		return a.host
	}
	return a.hostPort()
}

// badAddress quotes no address that may have a password in it.
func badAddress(raw, why string) error {
	if strings.Contains(raw, "@") {
		return driver.Errorf(metal.CodeInvalidAddress, "redfish_address %s", why)
	}
	return driver.Errorf(metal.CodeInvalidAddress, "redfish_address %q %s", raw, why)
}

// parseAddress reads host, host:port, https:// or redfish:// before them, with
// or without the path of a System behind. plain lists the networks that may be
// reached by http.
func parseAddress(raw string, plain []netip.Prefix) (address, error) {
	e, why := hardware.ParseEndpoint(raw)
	if why != "" {
		return address{}, badAddress(raw, why)
	}
	a := address{host: e.Host, port: e.Port, plain: e.Plain}
	if a.system, why = systemInPath(e.Path); why != "" {
		return address{}, badAddress(raw, why)
	}
	if a.plain && !plainAllowed(a.host, plain) {
		return address{}, badAddress(raw, "asks for plain http, which this agent's configuration does not allow for that network; use https")
	}
	return a, nil
}

// systemInPath reads the path behind an address: nothing, the service root, or
// one System.
func systemInPath(path string) (system, why string) {
	path = strings.TrimRight(path, "/")
	switch path {
	case "", "/redfish", root, root + "/Systems":
		return "", ""
	}
	if !under(path) {
		return "", "has a path that is not under " + root
	}
	if why := notASystem(path); why != "" {
		return "", why
	}
	if id := strings.TrimPrefix(path, root+"/Systems/"); id == path || id == "" || strings.Contains(id, "/") {
		return "", "has a path that names no System; " + root + "/Systems/<id> does"
	}
	return path, ""
}

// notASystem catches the paths that people put where a System belongs.
func notASystem(path string) string {
	collection, _, _ := strings.Cut(strings.TrimPrefix(path, root+"/"), "/")
	switch collection {
	case "Managers":
		return "is wrong: this is a Manager, not a System"
	case "Chassis":
		return "is wrong: this is a Chassis, not a System"
	}
	return ""
}

// systemPath reads redfish_system_id: a path or a bare id. Its case is kept.
func systemPath(id string) (string, error) {
	trimmed := strings.TrimRight(id, "/")
	if trimmed == "" {
		return "", nil
	}
	path := trimmed
	switch {
	case strings.HasPrefix(path, "/"):
	case strings.Contains(path, "/"):
		path = "/" + path
	default:
		path = root + "/Systems/" + path
	}
	why := hardware.ForbiddenText(path)
	switch {
	case why != "":
	case path == root || path == root+"/Systems":
		why = "is the path of no System; " + root + "/Systems/<id> is"
	case !under(path):
		why = "is not under " + root
	default:
		why = notASystem(path)
	}
	if why != "" && strings.Contains(id, "@") {
		return "", driver.Errorf(metal.CodeInvalidConfig, "redfish_system_id %s", why)
	}
	if why != "" {
		return "", driver.Errorf(metal.CodeInvalidConfig, "redfish_system_id %q %s", id, why)
	}
	return path, nil
}

// under reports whether path is root or below it.
func under(path string) bool {
	return path == root || strings.HasPrefix(path, root+"/")
}

// checkPath guards every path that a document names before it is asked for:
// the BMC's word decides where the credentials go next.
func checkPath(path string) error {
	why := hardware.ForbiddenText(path)
	if why == "" && !under(path) {
		why = "is not under " + root
	}
	if why == "" && strings.Contains(path, "//") {
		why = "has an empty segment"
	}
	if why != "" {
		return driver.Errorf(metal.CodeInvalidAddress, "the BMC names the path %.200q, which %s; it is not followed", path, why)
	}
	return nil
}

func plainAllowed(host string, networks []netip.Prefix) bool {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return len(networks) > 0 // a name: decided by the address it resolves to
	}
	return within(ip, networks)
}

func within(ip netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}
