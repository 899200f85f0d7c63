package oracle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
)

var (
	requestID = regexp.MustCompile(`^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	anyUUID   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	zoneless  = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?$`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00`)
)

// wording are the keys whose text is for people; only its presence counts, save
// where a case asks for the words.
var wording = map[string]bool{"faultstring": true, "description": true, "last_error": true, "reason": true, "event": true}

// unordered are the keys whose lists have no promised order.
var unordered = regexp.MustCompile(`^(enabled_\w+_interfaces|hosts|drivers|traits)$`)

// masker gives what differs from run to run a name. One serves one scenario.
type masker struct {
	base    string   // the server's URL
	hosts   []string // its conductors
	literal string   // the scenario's own text, whose uuids stay
	names   map[string]string
	others  map[string]string // ids without a name in this answer
	words   bool              // this answer's wording counts
}

// name remembers the name under which a value is shown.
func (m *masker) name(value, name string) {
	if value != "" {
		m.names[value] = "{" + name + "}"
	}
}

func (m *masker) text(s string) string {
	s = strings.ReplaceAll(s, m.base, "{base}")
	for _, h := range m.hosts {
		if s == h || strings.Contains(s, "/"+h) {
			s = strings.ReplaceAll(s, h, "<conductor>")
		}
	}
	s = anyTime.ReplaceAllString(s, "<time>")
	s = zoneless.ReplaceAllString(s, "<time without zone>")
	return anyUUID.ReplaceAllStringFunc(s, m.uuid)
}

func (m *masker) uuid(id string) string {
	if strings.Contains(m.literal, id) {
		return id
	}
	if name, ok := m.names[id]; ok {
		return name
	}
	if _, ok := m.others[id]; !ok {
		m.others[id] = fmt.Sprintf("<uuid %d>", len(m.others)+1)
	}
	return m.others[id]
}

// next begins another answer: ids without a name are counted from one again,
// so that one answer that differs does not make all later ones differ.
func (m *masker) next() { m.others = map[string]string{} }

// body masks a JSON value. Object keys are visited in order, so that both
// servers' ids get the same numbers.
func (m *masker) body(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return m.object(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = m.body(v[i])
		}
		return out
	case string:
		return m.text(v)
	}
	return v
}

func (m *masker) object(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		out[m.text(k)] = m.value(k, object)
	}
	return out
}

func (m *masker) value(key string, object map[string]any) any {
	v := object[key]
	s, isText := v.(string)
	switch {
	case isText && key == "agent_token" && s != "******":
		return "<token>"
	case isText && s != "" && !m.words && wording[key] && isWording(key, object):
		return "<text>"
	}
	v = m.body(v)
	if list, ok := v.([]any); ok && unordered.MatchString(key) {
		sortJSON(list)
	}
	return v
}

// isWording tells a description that a client gave a resource, or a reason it
// gave, from the words of an error.
func isWording(key string, object map[string]any) bool {
	switch key {
	case "description":
		_, titled := object["title"]
		_, document := object["default_version"]
		return titled || document
	case "reason":
		_, result := object["result"]
		return result
	}
	return true
}

func sortJSON(list []any) {
	text := func(v any) string {
		if object, ok := v.(map[string]any); ok && object["name"] != nil {
			v = object["name"]
		}
		b, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(b)
	}
	sort.SliceStable(list, func(i, j int) bool { return text(list[i]) < text(list[j]) })
}
