package redfish

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"ferrule/drivers/driver"
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

func badAddress(raw, why string) error {
	return driver.Errorf(metal.CodeInvalidAddress, "redfish_address %q %s", raw, why)
}

// parseAddress reads host, host:port, https:// or redfish:// before them, with
// or without the path of a System behind. plain lists the networks that may be
// reached by http.
func parseAddress(raw string, plain []netip.Prefix) (address, error) {
	if raw == "" {
		return address{}, badAddress(raw, "is empty; give the BMC's host name or IP address")
	}
	if why := forbiddenText(raw); why != "" {
		return address{}, badAddress(raw, why)
	}
	rest := raw
	var a address
	if scheme, after, ok := strings.Cut(raw, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "redfish":
		case "http":
			a.plain = true
		default:
			return address{}, badAddress(raw, "has a scheme that is none of https, redfish")
		}
		rest = after
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	var why string
	if a.host, a.port, why = splitAuthority(authority, a.plain); why != "" {
		return address{}, badAddress(raw, why)
	}
	if a.system, why = systemInPath(path); why != "" {
		return address{}, badAddress(raw, why)
	}
	if a.plain && !plainAllowed(a.host, plain) {
		return address{}, badAddress(raw, "asks for plain http, which this agent's configuration does not allow for that network; use https")
	}
	return a, nil
}

// forbiddenText says why s can be no part of a BMC's address or path, or "".
func forbiddenText(s string) string {
	for _, r := range s {
		switch {
		case r == '@':
			return "has an @: credentials do not belong in an address"
		case r == '?' || r == '#':
			return "has a query or fragment"
		case r == '\\':
			return "has a backslash"
		case r == '%':
			return "has a percent escape"
		case unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar:
			return "has a blank or control character"
		}
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." || part == "." {
			return "has a dot segment in its path"
		}
	}
	return ""
}

func splitAuthority(s string, plain bool) (host, port, why string) {
	port = "443"
	if plain {
		port = "80"
	}
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return ip.Unmap().String(), port, ""
	}
	host, portText := s, ""
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", "has an opening bracket without a closing one"
		}
		ip, err := netip.ParseAddr(s[1:end])
		if err != nil || ip.Is4() || ip.Zone() != "" {
			return "", "", "has something in brackets that is no IPv6 address"
		}
		host, portText = ip.Unmap().String(), s[end+1:]
		if portText != "" && portText[0] != ':' {
			return "", "", "has text behind the bracket that is no port"
		}
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, portText = s[:i], s[i:]
	}
	if portText != "" {
		n, err := strconv.ParseUint(portText[1:], 10, 16)
		if err != nil || n == 0 || portText[1] == '+' {
			return "", "", "has a port that is no number from 1 to 65535"
		}
		port = strconv.FormatUint(n, 10)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String(), port, ""
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host, port, badName(host)
}

var (
	nameLabel = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$`)
	// A last label of digits would be read as an IPv4 address by some
	// resolvers and as a name by others (127.1, 0x7f.1).
	numericLabel = regexp.MustCompile(`^([0-9]+|0x[0-9a-f]*)$`)
)

func badName(host string) string {
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if !nameLabel.MatchString(l) {
			return "has no valid host name or IP address"
		}
	}
	if len(host) > 253 || numericLabel.MatchString(labels[len(labels)-1]) {
		return "has no valid host name or IP address"
	}
	return ""
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
	why := forbiddenText(path)
	switch {
	case why != "":
	case path == root || path == root+"/Systems":
		why = "is the path of no System; " + root + "/Systems/<id> is"
	case !under(path):
		why = "is not under " + root
	default:
		why = notASystem(path)
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
	why := forbiddenText(path)
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
