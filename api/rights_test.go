package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ferrule/api/policy"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
	"ferrule/store/storetest"
)

// documents are the operations that nobody is kept from.
var documents = []string{"getVersions", "headVersions", "getV1", "headV1"}

func TestEveryOperationAsksAPolicyThatThereIs(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, p := range policy.Defaults() {
		known[p.Name] = true
	}
	for _, op := range openapi.Operations {
		if op.Own || slices.Contains(documents, op.ID) {
			continue
		}
		if len(op.Policies) == 0 {
			t.Errorf("%s %s asks no policy: say which in x-openstack of openapi/ironic.yaml", op.Method, op.Path)
		}
		if op.About == openapi.AboutList && len(op.Policies) != 2 {
			t.Errorf("%s %s is a list: it needs the policies on all things and on one's own", op.Method, op.Path)
		}
		if op.About == openapi.AboutNode && !strings.Contains(op.Path, "{node}") && op.ID != "validateNodeByQuery" {
			t.Errorf("%s %s is about a node, and names none", op.Method, op.Path)
		}
		for _, name := range op.Policies {
			if !known[name] {
				t.Errorf("%s %s asks %s, which there is not", op.Method, op.Path, name)
			}
		}
	}
}

// notAsked are Ironic's policies that nothing asks.
var notAsked = map[string]string{
	"baremetal:allocation:create_pre_rbac": "Ironic asks it where the defaults of before scopes are kept",
	"baremetal:inspection_rule:list_all":   "Ironic itself asks it nowhere",
}

func TestEveryPolicyIsAsked(t *testing.T) {
	t.Parallel()
	var asked strings.Builder
	for _, op := range openapi.Operations {
		asked.WriteString(strings.Join(op.Policies, " ") + " ")
	}
	sources, err := filepath.Glob("v1/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked.Write(text)
	}
	for _, p := range policy.Defaults() {
		whole := regexp.MustCompile(regexp.QuoteMeta(p.Name) + `[^a-z_:]`)
		if strings.HasPrefix(p.Name, "baremetal:") && notAsked[p.Name] == "" && !whole.MatchString(asked.String()) {
			t.Errorf("nothing asks %s", p.Name)
		}
	}
}

// tokens are what this test's Keystone knows: "role on project".
func keystone(t *testing.T) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/auth/tokens", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Subject-Token", "of the service")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"token": {"catalog": [], "expires_at": "2099-01-01T00:00:00Z"}}`)
	})
	mux.HandleFunc("GET /v3/auth/tokens", func(w http.ResponseWriter, r *http.Request) {
		role, on, known := strings.Cut(r.Header.Get("X-Subject-Token"), "@")
		if !known {
			http.NotFound(w, r)
			return
		}
		token := map[string]any{"expires_at": "2099-01-01T00:00:00Z", "user": map[string]any{"id": "u", "name": "una"}}
		implied := []string{"admin", "manager", "member", "reader"}
		var roles []any
		for _, name := range implied[slices.Index(implied, role):] {
			roles = append(roles, map[string]any{"name": name})
		}
		token["roles"] = roles
		if on == "system" {
			token["system"] = map[string]any{"all": true}
		} else {
			token["project"] = map[string]any{"id": on, "name": on}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"token": token})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/v3"
}

func keystoneSettings(t *testing.T) []string {
	t.Helper()
	return []string{
		"DEFAULT.auth_strategy=keystone", "keystone_authtoken.auth_type=password", "keystone_authtoken.auth_url=" + keystone(t),
		"keystone_authtoken.user_id=ironic", "keystone_authtoken.password=fake", "keystone_authtoken.www_authenticate_uri=http://k.example.org",
	}
}

// serveKeystone is an API under keystone with a node of blue's that green
// leases, and one of red's, each with a port.
func serveKeystone(t *testing.T, set ...string) *served {
	t.Helper()
	s := serve(t, append(keystoneSettings(t), set...)...)
	for i, owners := range [][2]string{{"blue", "green"}, {"red", ""}} {
		node := s.as("admin@system", "POST", "/v1/nodes", fmt.Sprintf(
			`{"driver": "fake-hardware", "name": %q, "owner": %q, "lessee": %q, "driver_info": {"k": "v"}}`, owners[0], owners[0], owners[1])).want(201).object()
		s.as("admin@system", "POST", "/v1/ports", fmt.Sprintf(
			`{"node_uuid": %q, "address": "52:54:00:00:00:0%d", "name": "p-%s"}`, node["uuid"], i+1, owners[0])).want(201)
		s.as("admin@system", "PATCH", "/v1/nodes/"+owners[0], fmt.Sprintf(
			`[{"op": "add", "path": "/shard", "value": "s"}, {"op": "add", "path": "/instance_uuid", "value": "00000000-0000-4000-8000-00000000000%d"}]`, i)).want(200)
	}
	return s
}

func (s *served) as(token, method, path, body string) answer {
	s.t.Helper()
	return s.ask("1.104", method, path, body, "X-Auth-Token: "+token)
}

func names(t *testing.T, list any) string {
	t.Helper()
	var all []string
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, fmt.Sprint(item.(map[string]any)["name"]))
	}
	return strings.Join(all, " ")
}

func TestNoFilterOpensWhatIsAnothers(t *testing.T) {
	t.Parallel()
	s := serveKeystone(t)
	red := s.as("admin@system", "GET", "/v1/nodes/red", "").want(200).object()["uuid"].(string)
	for path, want := range map[string]string{
		"/v1/nodes?detail=true":            "blue",
		"/v1/nodes/detail":                 "blue",
		"/v1/nodes?shard=s&fields=name":    "blue",
		"/v1/nodes?owner=red&fields=name":  "",
		"/v1/nodes?fields=name&lessee=red": "",
		"/v1/nodes/detail?instance_uuid=00000000-0000-4000-8000-000000000001": "",
		"/v1/nodes?instance_uuid=00000000-0000-4000-8000-000000000001":        "",
		"/v1/ports?detail=true":                       "p-blue",
		"/v1/ports/detail":                            "p-blue",
		"/v1/ports?shard=s&fields=name":               "p-blue",
		"/v1/ports?address=52:54:00:00:00:02":         "",
		"/v1/ports?node=red":                          "",
		"/v1/ports?node_uuid=" + red + "&detail=true": "",
		"/v1/ports/detail?node=red":                   "",
		"/v1/ports?conductor_groups=&fields=name":     "p-blue",
		"/v1/ports?description_contains=&detail=True": "",
		"/v1/nodes?description_contains=&fields=name": "",
		"/v1/nodes?conductor=here&fields=name":        "blue",
		"/v1/nodes?include_children=true&fields=name": "blue",
		"/v1/nodes?sort_key=name&limit=1&fields=name": "blue",
		"/v1/nodes?marker=" + red + "&fields=name":    "",
		"/v1/nodes?project=green&fields=name":         "blue",
	} {
		for _, who := range []string{"reader@green", "admin@green"} {
			object := s.as(who, "GET", path, "").want(200).object()
			list, ok := object["nodes"]
			if !ok {
				list = object["ports"]
			}
			if got := names(t, list); got != want {
				t.Errorf("%s GET %s shows %q, not %q", who, path, got, want)
			}
		}
	}
	for _, path := range []string{
		"/v1/nodes/red", "/v1/nodes/" + red, "/v1/nodes/red/states", "/v1/nodes/red/ports", "/v1/nodes/red/ports/detail",
		"/v1/nodes/validate?node=red", "/v1/nodes/red/validate", "/v1/nodes/red/management/boot_device",
	} {
		text := s.as("admin@green", "GET", path, "").want(404).fault()["faultstring"]
		if strings.Contains(path, "red") && !strings.Contains(fmt.Sprint(text), "could not be found") {
			t.Errorf("GET %s: %v", path, text)
		}
	}
	s.as("admin@green", "GET", "/v1/nodes?project=red", "").want(403)
}

func TestALesseeIsNotShownWhatIsTheOwners(t *testing.T) {
	t.Parallel()
	s := serveKeystone(t)
	hidden := []string{"last_error", "reservation", "driver_info", "driver_internal_info"}
	for who, redacted := range map[string]bool{"reader@system": false, "reader@blue": false, "admin@green": true} {
		one := s.as(who, "GET", "/v1/nodes/blue", "").want(200).object()
		list := s.as(who, "GET", "/v1/nodes/detail?owner=blue", "").want(200).object()["nodes"].([]any)
		some := s.as(who, "GET", "/v1/nodes/blue?fields="+strings.Join(hidden, ","), "").want(200).object()
		few := s.as(who, "GET", "/v1/nodes?owner=blue&fields="+strings.Join(hidden, ","), "").want(200).object()["nodes"].([]any)
		for _, node := range []map[string]any{one, list[0].(map[string]any), some, few[0].(map[string]any)} {
			for _, field := range hidden {
				if got := strings.Contains(fmt.Sprint(node[field]), "edacted"); got != redacted {
					t.Errorf("%s: %s is %v", who, field, node[field])
				}
			}
		}
	}
}

func TestARefusalNamesThePolicy(t *testing.T) {
	t.Parallel()
	s := serveKeystone(t)
	for _, c := range []struct{ who, method, path, body, want string }{
		{"reader@system", "POST", "/v1/nodes", `{"driver": "fake-hardware"}`, "baremetal:node:create"},
		{"member@green", "PATCH", "/v1/nodes/blue", `[{"op": "add", "path": "/retired_reason", "value": "r"}]`, "baremetal:node:update:retired"},
		{"member@green", "PUT", "/v1/nodes/blue/states/provision", `{"target": "manage"}`, "baremetal:node:set_provision_state"},
		{"reader@blue", "PATCH", "/v1/ports/p-blue", `[{"op": "add", "path": "/extra/k", "value": 1}]`, "baremetal:port:update"},
		{"admin@blue", "GET", "/v1/drivers", "", "It needs a token with system scope, and this one has project scope."},
	} {
		text := fmt.Sprint(s.as(c.who, c.method, c.path, c.body).want(403).fault()["faultstring"])
		if !strings.HasPrefix(text, "Access was denied to the following resource: ") || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %s", c.who, c.method, c.path, text)
		}
	}
	challenge := s.ask("1.104", "GET", "/v1/nodes", "").want(401).Header().Get("WWW-Authenticate")
	if challenge != `Keystone uri="http://k.example.org"` {
		t.Errorf("challenge %q", challenge)
	}
}

func TestAProjectsAdminKeepsNodesOfItsOwn(t *testing.T) {
	t.Parallel()
	s := serveKeystone(t)
	node := s.as("admin@green", "POST", "/v1/nodes", `{"driver": "fake-hardware"}`).want(201).object()
	if node["owner"] != "green" {
		t.Errorf("the owner is %v", node["owner"])
	}
	s.as("admin@green", "POST", "/v1/nodes", `{"driver": "fake-hardware", "owner": "red"}`).want(400)
	s.as("admin@blue", "DELETE", "/v1/nodes/"+node["uuid"].(string), "").want(404)
	s.as("manager@green", "DELETE", "/v1/nodes/"+node["uuid"].(string), "").want(403)
	s.as("admin@green", "DELETE", "/v1/nodes/"+node["uuid"].(string), "").want(204)

	strict := serveKeystone(t, "api.project_admin_can_manage_own_nodes=false")
	strict.as("admin@green", "POST", "/v1/nodes", `{"driver": "fake-hardware"}`).want(403)
	strict.as("admin@blue", "DELETE", "/v1/nodes/blue", "").want(403)
}

func TestOperatorsCallsAreTheSystemsAlone(t *testing.T) {
	t.Parallel()
	s := serveKeystone(t)
	for who, want := range map[string]int{"admin@system": 200, "reader@system": 200, "admin@blue": 403, "": 401} {
		if got := s.as(who, "GET", "/ferrule/v1/agents", "").Code; got != want {
			t.Errorf("%q reads the agents: %d", who, got)
		}
	}
	for who, want := range map[string]int{"reader@system": 403, "admin@blue": 403} {
		if got := s.as(who, "POST", "/ferrule/v1/join-codes", `{}`).Code; got != want {
			t.Errorf("%q makes a join code: %d", who, got)
		}
	}
}

func TestRamdisksNeedNoToken(t *testing.T) {
	t.Parallel()
	s := serveKeystone(t, "api.restrict_lookup=false")
	storetest.Write(t, s.store, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.Node(ctx, "blue")
		if err != nil {
			return err
		}
		locked, err := tx.LockNode(ctx, n.UUID)
		if err != nil {
			return err
		}
		locked.ProvisionState = metal.DeployWait
		return tx.UpdateNode(ctx, locked)
	})
	found := s.ask("1.104", "GET", "/v1/lookup?addresses=52:54:00:00:00:01", "").want(200).object()["node"].(map[string]any)
	if !strings.Contains(fmt.Sprint(found["driver_internal_info"]), "Redacted") {
		t.Errorf("whoever asks is told %v", found["driver_internal_info"])
	}
}
