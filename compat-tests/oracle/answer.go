package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// Answer is what a server said to one step, masked.
type Answer struct {
	Text   string // the step's
	Status int
	Header []string // only what departs from the usual, see usualHeader
	Body   any      // nil, a JSON value, or notJSON
	NoBody bool
}

// notJSON stands for a body that is no JSON; what it says is wording.
const notJSON = "<not JSON>"

// compared are the headers that are part of the contract.
var compared = []string{
	"Content-Type", "Location", "Server", "Allow", "Vary", "Etag", "Last-Modified", "Cache-Control", "Www-Authenticate",
	"X-Openstack-Ironic-Api-Minimum-Version", "X-Openstack-Ironic-Api-Maximum-Version", "X-Openstack-Ironic-Api-Version",
}

// usualHeader is left out of recordings; a header that is absent or says
// something else is written down.
func usualHeader(step Step, empty bool) map[string]string {
	usual := map[string]string{
		"Server":                                 "ironic_api",
		"X-Openstack-Ironic-Api-Minimum-Version": "1.1",
		"X-Openstack-Ironic-Api-Maximum-Version": latest,
		"X-Openstack-Ironic-Api-Version":         step.Version,
		"Content-Type":                           "application/json",
	}
	if empty {
		usual["Content-Type"] = ""
	}
	if step.Version == "-" {
		usual["X-Openstack-Ironic-Api-Version"] = "1.1"
	}
	if step.Version == "latest" {
		usual["X-Openstack-Ironic-Api-Version"] = latest
	}
	return usual
}

func readBody(res *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return raw, nil
}

// readAnswer masks a response, whole.
func readAnswer(step Step, res *http.Response, raw []byte, m *masker) Answer {
	m.next()
	m.words = step.Words
	a := Answer{Text: step.Text, Status: res.StatusCode, NoBody: len(raw) == 0}
	a.Header = unusualHeader(step, res, len(raw) == 0, m)
	if len(raw) == 0 {
		return a
	}
	body, err := decodeJSON(raw)
	if err != nil {
		a.Body = notJSON
		return a
	}
	a.Body = m.body(unwrapError(body))
	if helpTexts.MatchString(step.Path) && res.StatusCode == http.StatusOK {
		a.Body = withoutValues(a.Body)
	}
	return a
}

func unusualHeader(step Step, res *http.Response, empty bool, m *masker) []string {
	var lines []string
	usual := usualHeader(step, empty)
	versions := versionHeaders(res)
	if !versions {
		lines = append(lines, "Version-Headers: (absent)")
	}
	for _, name := range compared {
		if !versions && strings.HasPrefix(name, versionPrefix) {
			continue
		}
		got := m.text(strings.Join(res.Header.Values(name), ", "))
		if got == usual[name] {
			continue
		}
		if got == "" {
			got = "(absent)"
		}
		lines = append(lines, name+": "+got)
	}
	ids := [2]string{res.Header.Get("X-Openstack-Request-Id"), res.Header.Get("Openstack-Request-Id")}
	if !requestID.MatchString(ids[0]) || ids[0] != ids[1] {
		lines = append(lines, fmt.Sprintf("Request-Ids: %v %v", requestID.MatchString(ids[0]), requestID.MatchString(ids[1])))
	}
	return lines
}

const versionPrefix = "X-Openstack-Ironic-Api-"

// versionHeaders reports whether there is any of the three.
func versionHeaders(res *http.Response) bool {
	for name := range res.Header {
		if strings.HasPrefix(name, versionPrefix) {
			return true
		}
	}
	return false
}

func decodeJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode the body: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("decode the body: more than one value")
	}
	return v, nil
}

// helpTexts are documents that explain options in the server's own words.
var helpTexts = regexp.MustCompile(`/drivers/[^/]+/(properties|raid/logical_disk_properties)/?$`)

func withoutValues(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	for k, v := range object {
		if s, ok := v.(string); ok && s != "" {
			object[k] = "<text>"
		}
	}
	return object
}

// unwrapError opens the JSON text inside error_message. The key tells that it
// was a text, so an error that is not encoded twice differs.
func unwrapError(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	text, ok := object["error_message"].(string)
	if !ok {
		return body
	}
	inner, err := decodeJSON([]byte(text))
	if err != nil {
		return map[string]any{"error_message": "<text>"}
	}
	return map[string]any{"error_message (JSON text)": inner}
}

// shown is the part of an answer that its step records.
func (a Answer) shown(step Step) Answer {
	if len(step.Show) > 0 && a.Status < 300 {
		a.Body = project(a.Body, step.Show)
	}
	return a
}

// project keeps some keys of an object and counts the others; LIST/KEY is a key
// of each item of a list. An object that has none of them is another kind of
// answer and stays whole.
func project(body any, keys []string) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	kept, items := map[string]any{}, map[string][]string{}
	for _, k := range keys {
		if list, key, ok := strings.Cut(k, "/"); ok {
			items[list] = append(items[list], key)
		} else if v, ok := object[k]; ok {
			kept[k] = v
		}
	}
	for key, of := range items {
		if list, ok := object[key].([]any); ok {
			kept[key] = projectAll(list, of)
		}
	}
	if len(kept) == 0 {
		return body
	}
	kept["and keys"] = json.Number(fmt.Sprint(len(object) - len(kept)))
	return kept
}

func projectAll(list []any, keys []string) []any {
	all := make([]any, len(list))
	for i := range list {
		all[i] = project(list[i], keys)
	}
	return all
}
