package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

// pageCall is a request with headers that a browser, or a client, sends.
type pageCall struct {
	method, path, host string
	headers            []string // name and value in turn
	body               string
}

func (s *served) send(c pageCall) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), c.method, c.path, strings.NewReader(c.body))
	r.Host = c.host
	for i := 0; i < len(c.headers); i += 2 {
		r.Header.Set(c.headers[i], c.headers[i+1])
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, r)
	return w
}

const newNode = `{"driver": "fake-hardware"}`

// A web page that has a browser call an API without authentication changes and
// learns nothing.
func TestAWebPageDoesNotUseTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := serveStore(t, db, "api.host_ip=127.0.0.1")
		const here = "127.0.0.1:6385"
		for name, c := range map[string]pageCall{
			"a form":              {http.MethodPost, "/v1/nodes", here, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, newNode},
			"without a type":      {http.MethodPost, "/v1/nodes", here, []string{"Origin", "http://evil.example"}, newNode},
			"a hidden origin":     {http.MethodPost, "/v1/nodes", here, []string{"Origin", "null", "Content-Type", "text/plain"}, newNode},
			"of another port":     {http.MethodPost, "/v1/nodes", here, []string{"Origin", "http://127.0.0.1:3000"}, newNode},
			"a look-alike":        {http.MethodPost, "/v1/nodes", here, []string{"Origin", "http://127.0.0.1:6385.evil.example"}, newNode},
			"with a user":         {http.MethodPost, "/v1/nodes", here, []string{"Origin", "http://127.0.0.1:6385@evil.example"}, newNode},
			"without an origin":   {http.MethodPost, "/v1/nodes", here, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, newNode},
			"of a sister":         {http.MethodPost, "/v1/nodes", here, []string{"Sec-Fetch-Site", "same-site"}, newNode},
			"an image":            {http.MethodGet, "/v1/nodes", here, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, ""},
			"a frame":             {http.MethodGet, "/v1/nodes", here, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, ""},
			"reading":             {http.MethodGet, "/v1/nodes", here, []string{"Origin", "https://evil.example"}, ""},
			"rebinding":           {http.MethodGet, "/v1/nodes", "evil.example:6385", nil, ""},
			"rebinding, a change": {http.MethodPost, "/v1/nodes", "evil.example:6385", []string{"Origin", "http://evil.example:6385", "Sec-Fetch-Site", "same-origin"}, newNode},
			"rebinding, a dot":    {http.MethodGet, "/v1/nodes", "evil.example.:6385", nil, ""},
			"rebinding, local":    {http.MethodGet, "/v1/nodes", "printer:6385", nil, ""},
			"not quite localhost": {http.MethodGet, "/v1/nodes", "localhost.evil.example", nil, ""},
			"not quite 127.0.0.1": {http.MethodGet, "/v1/nodes", "127.0.0.1.evil.example", nil, ""},
			"a join code":         {http.MethodPost, "/ferrule/v1/join-codes", here, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, `{}`},
			"agents":              {http.MethodGet, "/ferrule/v1/agents", "evil.example", nil, ""},
			"metrics":             {http.MethodGet, "/metrics", "evil.example", nil, ""},
			"a heartbeat":         {http.MethodPost, "/v1/heartbeat/x", here, []string{"Origin", "https://evil.example"}, `{}`},
			"the root":            {http.MethodPost, "/", here, []string{"Origin", "https://evil.example"}, ""},
		} {
			if w := s.send(c); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "[api] allowed_hosts") {
				t.Errorf("%s: %d %s", name, w.Code, w.Body)
			}
		}
		if nodes, err := s.store.Nodes(t.Context(), store.NodeQuery{}); err != nil || len(nodes) != 0 {
			t.Errorf("pages made %d nodes, %v", len(nodes), err)
		}
		for _, part := range []string{"evil.example:6385", "https://evil.example"} {
			if !strings.Contains(s.log.String(), part) {
				t.Errorf("the log says nothing of %s", part)
			}
		}
	})
}

// Clients, the API's own pages, and probes are served as ever.
func TestClientsAreNoWebPages(t *testing.T) {
	local, open := serve(t, "api.host_ip=127.0.0.1"), serve(t, "api.host_ip=0.0.0.0")
	named := serve(t, "api.host_ip=127.0.0.1", "api.allowed_hosts=Metal.example, ui.example:8443", "api.public_endpoint=https://api.example/baremetal")
	proxied := serve(t, "api.host_ip=127.0.0.1", "oslo_middleware.enable_proxy_headers_parsing=true", "api.allowed_hosts=metal.example")
	get := func(host string, headers ...string) pageCall {
		return pageCall{http.MethodGet, "/v1/nodes", host, headers, ""}
	}
	post := func(host string, headers ...string) pageCall {
		return pageCall{http.MethodPost, "/v1/nodes", host, append(headers, "Content-Type", "application/json"), newNode}
	}
	for name, c := range map[string]struct {
		s    *served
		call pageCall
		want int
	}{
		"by address":                 {local, post("127.0.0.1:6385"), 201},
		"by any address":             {local, post("192.0.2.1:6385"), 201},
		"by an IPv6 address":         {local, post("[fd00::7]:6385"), 201},
		"at localhost":               {local, post("localhost:6385"), 201},
		"at localhost, spelt out":    {local, post("LOCALHOST.:6385"), 201},
		"below localhost":            {local, get("ironic.localhost"), 200},
		"without a host":             {local, get(""), 200},
		"a page of our own":          {local, post("127.0.0.1:6385", "Origin", "http://127.0.0.1:6385", "Sec-Fetch-Site", "same-origin"), 201},
		"typed by hand":              {local, get("127.0.0.1:6385", "Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate"), 200},
		"a link":                     {local, get("127.0.0.1:6385", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"), 200},
		"a probe":                    {local, pageCall{http.MethodGet, "/healthz", "lb.example", nil, ""}, 200},
		"a probe of readiness":       {local, pageCall{http.MethodGet, "/readyz", "lb.example", nil, ""}, 200},
		"at its name in a cluster":   {open, post("ironic.baremetal-operator-system.svc:6385"), 201},
		"at its whole cluster name":  {open, post("ironic.metal3.svc.cluster.local"), 201},
		"at a container's name":      {open, post("ironic:6385"), 201},
		"at a private name":          {open, post("ironic.dc1.internal"), 201},
		"at a public name":           {open, post("ironic.example.com"), 403},
		"at an allowed name":         {named, post("metal.EXAMPLE:6385"), 201},
		"at the public endpoint":     {named, post("api.example"), 201},
		"a page that is allowed":     {named, post("127.0.0.1:6385", "Origin", "https://ui.example", "Sec-Fetch-Site", "cross-site"), 201},
		"a page behind the endpoint": {named, post("127.0.0.1:6385", "Origin", "https://api.example"), 201},
		"a page that is not":         {named, post("metal.example", "Origin", "https://other.example"), 403},
		"through a proxy":            {proxied, post("127.0.0.1", "X-Forwarded-Host", "metal.example"), 201},
		"a page through a proxy":     {proxied, post("127.0.0.1", "X-Forwarded-Host", "metal.example", "X-Forwarded-Proto", "https", "Origin", "https://metal.example"), 201},
		"rebinding to a proxy":       {proxied, post("127.0.0.1", "X-Forwarded-Host", "evil.example", "Origin", "http://evil.example"), 403},
	} {
		if w := c.s.send(c.call); w.Code != c.want {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.want, w.Body)
		}
	}
	// The relay passes on the host by which the ramdisk reached it.
	uuid := local.node(newNode)
	local.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.CleanWait })
	r := httptest.NewRequestWithContext(link.RelayedFrom(t.Context(), ""), http.MethodGet, "/v1/lookup?node_uuid="+uuid, nil)
	r.Host = "relay.example:6387"
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.62")
	w := httptest.NewRecorder()
	local.api.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Errorf("a relayed call: %d %s", w.Code, w.Body)
	}
}

// A browser sends a password that it knows for any page's request.
func TestAWebPageDoesNotUseABrowsersPassword(t *testing.T) {
	password := storetest.UUID()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(users, fmt.Appendf(nil, "una:%s\n", hash), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "DEFAULT.auth_strategy=http_basic", "DEFAULT.http_basic_auth_user_file="+users)
	account := base64.StdEncoding.EncodeToString([]byte("una:" + password))
	for name, c := range map[string]struct {
		method, path string
		want         int
		headers      []string
	}{
		"a client":          {http.MethodPost, "/v1/nodes", 201, nil},
		"a page of our own": {http.MethodPost, "/v1/nodes", 201, []string{"Origin", "http://metal.example"}},
		"a page":            {http.MethodPost, "/v1/nodes", 403, []string{"Origin", "https://evil.example"}},
		"a page, no origin": {http.MethodPost, "/v1/nodes", 403, []string{"Sec-Fetch-Site", "cross-site"}},
		"an image":          {http.MethodGet, "/v1/nodes", 403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}},
		"a join code":       {http.MethodPost, "/ferrule/v1/join-codes", 403, []string{"Origin", "https://evil.example"}},
		"a heartbeat":       {http.MethodPost, "/v1/heartbeat/x", 403, []string{"Origin", "https://evil.example"}},
	} {
		call := pageCall{c.method, c.path, "metal.example", append(c.headers, "Authorization", "Basic "+account, "Content-Type", "application/json"), newNode}
		if w := s.send(call); w.Code != c.want {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, c.want, w.Body)
		}
	}
}
