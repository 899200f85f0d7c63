package api

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"ferrule/openapi"
)

// Bad input has Ironic's status and shape, never a 500, whatever the route.
func TestBadInputNeverFails(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware", "name": "n"}`)
	bodies := []string{
		"", "{bad", "null", "1", `"x"`, "[]", "{}", `[1]`, `[{}]`, `{"target": 1}`, `{"target": null}`, `{"nosuch": 1}`,
		`{"driver": ["x"]}`, `{"driver": "fake-hardware", "extra": "x"}`, `{"a": "\u0000"}`, "{\"a\": \"\xff\"}", `{"a": 1e999}`,
		`{"driver": "fake-hardware"} trailing`, `[{"op": "add", "path": "/extra/x"}]`, `[{"op": 1, "path": 2}]`,
		`{"callback_url": {}, "agent_token": []}`, `{"inventory": {"interfaces": [null]}}`, `{"inventory": {"interfaces": {}}}`,
		`{"boot_device": [], "persistent": {}}`, `{"reason": []}`, `{"node_uuid": 1, "address": 2}`,
	}
	queries := []string{
		"", "?nosuch=1", "?limit=-1", "?limit=x", "?limit=99999999999999999999", "?marker=x", "?sort_key=nosuch", "?sort_key=extra", "?sort_dir=up",
		"?fields=", "?fields=nosuch", "?fields=uuid&fields=nosuch", "?detail=maybe", "?maintenance=2", "?owner=%00", "?owner=%FF", "?address=x",
		"?node=%2F", "?limit=1&limit=2", "?%zz", "?provision_state=nosuch", "?node_uuid=x", "?addresses=,,", "?conductor_group=A",
	}
	idents := []string{uuid, "n", "nosuch", "%00", "%FF", "a%2Fb", strings.Repeat("x", 300), "..", "%2e%2e", "ports", "n@1"}
	versions := []string{"1.1", "1.46", "latest"}
	if testing.Short() {
		versions = versions[2:]
	}
	for _, op := range openapi.Operations {
		if op.Own {
			continue
		}
		for _, version := range versions {
			for _, query := range queries {
				s.probe(version, op.Method, fill(op.Path, uuid)+query, "")
			}
			for _, body := range bodies {
				s.probe(version, op.Method, fill(op.Path, "n"), body)
			}
		}
		for _, ident := range idents {
			s.probe("latest", op.Method, fill(op.Path, ident), "{}")
		}
	}
	for _, path := range []string{"//v1/nodes", "/v1//nodes", "/v2/nodes", "/v1/nodes/n/", "/v1/nodes/n//states", "/v1/../v1/nodes", "/v1/nodes/n/states/nosuch", "/%"} {
		for _, method := range []string{"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "BREW"} {
			s.probe("latest", method, path, "")
		}
	}
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

func fill(path, ident string) string { return pathParameter.ReplaceAllLiteralString(path, ident) }

// probe fails the test on a 5xx and on an error that clients cannot read.
func (s *served) probe(version, method, path, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://h", http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	if u, err := r.URL.Parse(path); err != nil || u.Host != "h" {
		return // no client can send it, or it means another host
	}
	a := s.ask(version, method, path, body)
	if a.Code >= 500 {
		s.t.Errorf("%s %s %s %q: %d %s", version, method, path, body, a.Code, a.Body)
	}
	if a.Code >= 400 && method != http.MethodHead && !strings.HasPrefix(a.Body.String(), `{"`) {
		s.t.Errorf("%s %s %q: %q", method, path, body, a.Body)
	}
	if a.Header().Get("X-Openstack-Request-Id") != a.Header().Get("Openstack-Request-Id") {
		s.t.Errorf("%s %s: the request ids differ", method, path)
	}
}

func TestLimits(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	big := `{"driver": "fake-hardware", "extra": {"a": "` + strings.Repeat("x", 2<<20) + `"}}`
	deep := `{"driver": "fake-hardware", "extra": ` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}`
	for body, status := range map[string]int{big: 413, deep: 400} {
		a := s.ask("latest", http.MethodPost, "/v1/nodes", body).want(status)
		if a.object()["faultstring"] == nil || a.Header().Get("X-OpenStack-Ironic-API-Version") != "" {
			t.Errorf("%d: %s", status, a.Body)
		}
	}
	drive := fmt.Sprintf(`{"target": "active", "configdrive": %q}`, strings.Repeat("A", 2<<20))
	s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", drive).want(400) // not in enroll; the size is fine
}

// What one request put in so deep, no client could read any more, and no request
// could take out again.
func TestNothingIsNestedDeeperThanClientsRead(t *testing.T) {
	s := serve(t)
	nest := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	node := func(levels int) string { return `{"driver": "fake-hardware", "extra": {"a": ` + nest(levels) + `}}` }
	add := func(levels int) string {
		return fmt.Sprintf(`[{"op": "add", "path": "/extra/a%s", "value": %s}]`, strings.Repeat("/0", levels), nest(20))
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json", "application/json-patch+json"} {
		s.ask("latest", http.MethodPost, "/v1/nodes", node(400), "Content-Type: "+kind).want(400)
	}
	uuid := s.node(node(20))
	depth := 20
	for ; depth < 400; depth += 20 {
		if s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, add(depth)).Code != http.StatusOK {
			break
		}
	}
	if depth > 250 {
		t.Errorf("patches nested a node's extra %d times", depth)
	}
	s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, `[{"op": "remove", "path": "/extra/a"}]`).want(200)
}

func FuzzRequests(f *testing.F) {
	f.Add("POST", "/v1/nodes", "1.46", `{"driver": "fake-hardware"}`)
	f.Add("PATCH", "/v1/nodes/n", "latest", `[{"op": "add", "path": "/extra/a", "value": 1}]`)
	f.Add("PUT", "/v1/nodes/n/states/provision", "1.115", `{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "x"}]}`)
	f.Add("GET", "/v1/ports?fields=uuid&node=n", "1.1", "")
	s := serve(f)
	s.node(`{"driver": "fake-hardware", "name": "n"}`)
	f.Fuzz(func(t *testing.T, method, path, version, body string) {
		if strings.ContainsAny(method, " \t\r\n") || method == "" || !strings.HasPrefix(path, "/") {
			return
		}
		path = "/" + strings.TrimLeft(path, "/")
		if _, err := http.NewRequestWithContext(t.Context(), method, "http://example.com"+path, http.NoBody); err != nil {
			return
		}
		here := *s
		here.t = t
		if a := here.ask("", method, path, body, "X-OpenStack-Ironic-API-Version: "+version); a.Code >= 500 {
			t.Errorf("%s %s %s %q: %d %s", method, path, version, body, a.Code, a.Body)
		}
	})
}
