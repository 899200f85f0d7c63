package api

import (
	"encoding/json"
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
