package metal

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Text from a BMC, a ramdisk or an agent may hold what no database column can:
// NUL, and bytes that are not UTF-8. It is made storable where it enters, so that
// no later write fails because of it. Such parts become U+FFFD.

const replacement = "\uFFFD"

// StorableText is the text without what cannot be stored.
func StorableText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// StorableJSON is JSON text whose strings are storable: their escapes of NUL are
// replaced too. Text that is not JSON stays so.
func StorableJSON(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
	}
	if !bytes.Contains(text, []byte(`\u0000`)) {
		return text
	}
	clean := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case bytes.HasPrefix(rest, []byte(`\u0000`)):
			clean = append(clean, replacement...)
			i += len(`\u0000`) - 1
		case rest[0] == '\\' && len(rest) > 1: // of an escaped backslash, the second escapes nothing
			clean = append(clean, rest[:2]...)
			i++
		default:
			clean = append(clean, rest[0])
		}
	}
	return clean
}

// Storable is the result with texts that can be stored.
func (r CommandResult) Storable() CommandResult {
	r.ResultJSON = StorableJSON(r.ResultJSON)
	r.Message, r.ErrorCode = StorableText(r.Message), ErrorCode(StorableText(string(r.ErrorCode)))
	return r
}
