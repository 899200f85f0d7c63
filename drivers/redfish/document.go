package redfish

import (
	"encoding/json"
	"strconv"
	"strings"
)

// fields is a Redfish object read leaf by leaf: a leaf that is missing, null
// or of another type costs that leaf only.
type fields map[string]json.RawMessage

func decode(raw []byte) (fields, bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, false
	}
	return m, true
}

func (f fields) has(name string) bool {
	raw, ok := f[name]
	return ok && string(raw) != "null"
}

// shows reports whether the property is there at all, null or not.
func (f fields) shows(name string) bool {
	_, ok := f[name]
	return ok
}

// text is a string; a number or boolean in its place is taken as its text.
func (f fields) text(name string) string {
	var v any
	if json.Unmarshal(f[name], &v) != nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// number is a number, or text that is one.
func (f fields) number(name string) (float64, bool) {
	var v any
	if json.Unmarshal(f[name], &v) != nil {
		return 0, false
	}
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		return n, err == nil && n == n && n < 1e18 && n > -1e18
	}
	return 0, false
}

// integer is a number without its fraction.
func (f fields) integer(name string) (int64, bool) {
	n, ok := f.number(name)
	if !ok || n > 1e18 || n < -1e18 {
		return 0, false
	}
	return int64(n), true
}

// flag is a boolean, or text that is one.
func (f fields) flag(name string) (value, ok bool) {
	b, err := strconv.ParseBool(strings.ToLower(f.text(name)))
	return b, err == nil
}

func (f fields) child(name string) fields {
	c, _ := decode(f[name])
	return c
}

func (f fields) list(name string) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(f[name], &l) != nil {
		return nil
	}
	return l
}

// children are the objects of a list.
func (f fields) children(name string) []fields {
	var out []fields
	for _, raw := range f.list(name) {
		if c, ok := decode(raw); ok {
			out = append(out, c)
		}
	}
	return out
}

// texts are the strings of a list; one string alone is a list of one.
func (f fields) texts(name string) []string {
	var out []string
	for _, raw := range f.list(name) {
		if s := (fields{"": raw}).text(""); s != "" {
			out = append(out, s)
		}
	}
	if s := f.text(name); s != "" {
		out = append(out, s)
	}
	return out
}

// link is the @odata.id of an object, or "".
func (f fields) link(name string) string { return f.child(name).text("@odata.id") }

// links are the @odata.id of a list's objects.
func (f fields) links(name string) []string {
	var out []string
	for _, c := range f.children(name) {
		if id := c.text("@odata.id"); id != "" {
			out = append(out, id)
		}
	}
	return out
}

// document is a resource as it was read.
type document struct {
	fields
	path string
	etag string
}

// etagOf takes the header's ETag exactly, or the document's own, without the
// suffix that some web servers put on for compressed answers.
func etagOf(header string, body fields) string {
	tag := header
	if tag == "" {
		tag = body.text("@odata.etag")
	}
	return strings.ReplaceAll(tag, `-gzip"`, `"`)
}

// asFields makes fields of values.
func asFields(values map[string]any) fields {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil
	}
	f, _ := decode(raw)
	return f
}
