package hardware

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Endpoint is where a BMC answers, read from an address as driver_info gives it.
// It is equal for all spellings of one address.
type Endpoint struct {
	Host  string // a name in lower case, or an IP literal without brackets
	Port  string
	Plain bool   // http, for labs
	Path  string // behind the authority, as it was given
}

// ParseEndpoint reads host, host:port, https:// or redfish:// before them, with
// or without a path behind. why says what is wrong with the address, "" for
// nothing.
func ParseEndpoint(raw string) (e Endpoint, why string) {
	if raw == "" {
		return e, "is empty; give the BMC's host name or IP address"
	}
	if why := ForbiddenText(raw); why != "" {
		return e, why
	}
	rest := raw
	if scheme, after, ok := strings.Cut(raw, "://"); ok {
		switch strings.ToLower(scheme) {
		case "https", "redfish":
		case "http":
			e.Plain = true
		default:
			return e, "has a scheme that is none of https, redfish"
		}
		rest = after
	}
	authority := rest
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, e.Path = rest[:i], rest[i:]
	}
	e.Host, e.Port, why = splitAuthority(authority, e.Plain)
	return e, why
}

// ForbiddenText says why s can be no part of a BMC's address or path, or "".
func ForbiddenText(s string) string {
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
