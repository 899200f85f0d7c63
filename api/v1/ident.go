package v1

import (
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strings"

	"ferrule/openapi"
)

var (
	logicalName = regexp.MustCompile(`^[A-Za-z0-9\-._~]{1,255}$`)
	hostName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9\-]{0,61}[a-z0-9])?(\.[a-z0-9\-_]{0,62}[a-z0-9])*\.?$`)
	macAddress  = regexp.MustCompile(`^([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$`)
	hex32       = regexp.MustCompile(`^[0-9a-f]{32}$`)
	uuidPrefix  = strings.NewReplacer("urn:", "", "uuid:", "")
)

// isUUIDLike is the lenient check of Ironic (oslo.utils: is_uuid_like): case,
// dashes, braces and the urn prefix do not matter for syntax, though a lookup
// compares literally.
func isUUIDLike(s string) bool {
	if isPlainUUID(s) {
		return true
	}
	if len(s) < 32 {
		return false
	}
	s = uuidPrefix.Replace(s)
	s = strings.ToLower(strings.ReplaceAll(strings.Trim(s, "{}"), "-", ""))
	return hex32.MatchString(s)
}

// isPlainUUID is how nearly all are written.
func isPlainUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// isLogicalName is the name rule since 1.10.
func isLogicalName(s string) bool { return logicalName.MatchString(s) }

// isNodeName is the rule for names at version v: host names before 1.10.
func isNodeName(s string, v openapi.Version) bool {
	if v < 10 {
		return len(s) <= 255 && hostName.MatchString(s)
	}
	return isLogicalName(s)
}

func isIdent(s string) bool { return isLogicalName(s) || isUUIDLike(s) }

// normalMAC is the stored form of a MAC; ok is false where s is none.
func normalMAC(s string) (string, bool) {
	if !macAddress.MatchString(s) {
		return "", false
	}
	return strings.ToLower(s), true
}

// newUUID is a random (version 4) UUID.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], b[0:4])
	hex.Encode(out[9:13], b[4:6])
	hex.Encode(out[14:18], b[6:8])
	hex.Encode(out[19:23], b[8:10])
	hex.Encode(out[24:], b[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// parseBool reads a boolean string in any of the accepted spellings.
func parseBool(s string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "1", "t", "true", "on", "y", "yes":
		return true, true
	case "0", "f", "false", "off", "n", "no":
		return false, true
	}
	return false, false
}
