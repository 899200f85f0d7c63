package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ferrule/openapi"
	"ferrule/openapi/conform"
)

// description is read once: it is the same for every test.
var description = sync.OnceValues(func() (*conform.Description, error) { return conform.New(openapi.YAML) })

// described holds an answer of the v1 API to the description, whatever the test
// asked it for.
func described(t testing.TB, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	version := strings.TrimPrefix(w.Header().Get("X-Openstack-Ironic-Api-Version"), "1.")
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimSuffix(path, "/")
	n, err := strconv.Atoi(version)
	if err != nil || !strings.HasPrefix(path, "/v1/") || strings.Contains(path, ".json") {
		return // turned away before it was known what was asked for, or another way to write a path
	}
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil && w.Body.Len() > 0 {
		t.Errorf("%s %s: %d %s: %v", method, path, w.Code, w.Body, err)
	}
	a := conform.Answer{
		Method: method, Path: path, Version: openapi.Version(n), Status: w.Code, Header: w.Header(), Body: body, Empty: w.Body.Len() == 0,
	}
	if err := d.Check(a); err != nil {
		t.Errorf("%s %s at 1.%s is answered %d, which is not as described: %v", method, path, version, w.Code, err)
	}
}

// A text may be as long as the description says, and no longer.
func TestTextsAreAsLongAsDescribed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	all := append(kinds(),
		kind{"/v1/nodes", "nodes", `{"driver": "fake-hardware"}`, openapi.NodeFields},
		kind{"/v1/ports", "ports", `{"node_uuid": "{node}", "address": "52:54:00:00:00:{n}"}`, openapi.PortFields})
	node, n := s.node(`{"driver": "fake-hardware"}`), 10
	for _, k := range all {
		for _, f := range k.fields.Fields {
			if !f.Create || f.MaxLength == 0 || f.Name == "phase" || f.Name == "owner" { // of one there is one value, of the other a policy
				continue
			}
			for _, longer := range []int{0, 1} {
				n++
				text := fmt.Sprintf("%q", strings.Repeat("é", f.MaxLength+longer))
				a := s.ask("latest", http.MethodPost, k.path, k.bodyWith(node, n, f.Name, text))
				if want := http.StatusCreated + longer*(http.StatusBadRequest-http.StatusCreated); a.Code != want {
					t.Errorf("%s.%s of %d letters: %d %s", k.fields.Name, f.Name, f.MaxLength+longer, a.Code, a.Body)
				}
			}
		}
	}
}
