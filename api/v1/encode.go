package v1

import (
	"strconv"
	"time"
	"unicode/utf8"

	"ferrule/metal"
)

// The encoder appends to one buffer: a list of a thousand nodes costs no
// reflection, no map and next to no allocation per field.

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string; bytes that are no UTF-8 become the
// replacement character.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			b = appendEscaped(b, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			i++
			start = i
			continue
		}
		i += size
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscaped(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

func appendNullable(b []byte, s *string) []byte {
	if s == nil {
		return append(b, "null"...)
	}
	return appendString(b, *s)
}

// appendText appends a string of which "" stands for null.
func appendText(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

func appendBool(b []byte, v bool) []byte { return strconv.AppendBool(b, v) }

func appendNullableBool(b []byte, v *bool) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	return strconv.AppendBool(b, *v)
}

// timeFormat is ISO 8601 with microseconds, as Ironic writes times.
const timeFormat = "2006-01-02T15:04:05.000000+00:00"

// wholeSeconds is what Python writes for a time without microseconds.
const wholeSeconds = "2006-01-02T15:04:05+00:00"

func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	format := timeFormat
	if t.Nanosecond()/1000 == 0 {
		format = wholeSeconds
	}
	b = append(b, '"')
	b = t.AppendFormat(b, format)
	return append(b, '"')
}

func appendNullableTime(b []byte, t *time.Time) []byte {
	if t == nil {
		return append(b, "null"...)
	}
	return appendTime(b, *t)
}

// appendObject appends a stored JSON object; null reads as the empty object.
func appendObject(b []byte, j metal.JSON) []byte {
	if j == "" || j == "null" {
		return append(b, "{}"...)
	}
	return append(b, j...)
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// appendLinks appends the pair of links of a resource: resource is
// "nodes/<uuid>/ports", without slashes at either end.
func appendLinks(b []byte, base string, resource ...string) []byte {
	b = append(b, `[{"href":`...)
	b = appendHref(b, base, "/v1", resource)
	b = append(b, `,"rel":"self"},{"href":`...)
	b = appendHref(b, base, "", resource)
	return append(b, `,"rel":"bookmark"}]`...)
}

func appendHref(b []byte, base, version string, resource []string) []byte {
	start := len(b)
	b = append(b, '"')
	b = append(b, base...)
	b = append(b, version...)
	for _, part := range resource {
		b = append(b, '/')
		b = append(b, part...)
	}
	// Hosts and ids are plain text in practice; what is not gets the slow way.
	for _, c := range b[start+1:] {
		if c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			text := string(b[start+1:])
			return appendString(b[:start], text)
		}
	}
	return append(b, '"')
}
