package api

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"ferrule/metal"
	"ferrule/openapi"
)

// Every route has an operation in the description, and every operation a route.
func TestRoutesAndDescriptionAgree(t *testing.T) {
	described := map[string]bool{}
	for _, op := range openapi.Operations {
		described[op.Method+" "+strings.NewReplacer("{", ":", "}", "").Replace(op.Path)] = false
	}
	for _, r := range serve(t).api.echo.Routes() {
		if strings.HasPrefix(r.Path, "/ferrule/") {
			continue // described by another file, held together by its own test
		}
		key := r.Method + " " + r.Path
		if _, ok := described[key]; !ok {
			t.Errorf("%s is served and not described", key)
		}
		described[key] = true
	}
	for key, served := range described {
		if !served {
			t.Errorf("%s is described and not served", key)
		}
	}
}

func TestOwnRoutes(t *testing.T) {
	s := serve(t)
	s.node(`{"driver": "fake-hardware"}`)
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ready", "/openapi.yaml": "openapi: 3", "/ca.pem": "a certificate",
		"/metrics": `ferrule_nodes{provision_state="enroll"} 1`,
	} {
		if got := s.ask("", http.MethodGet, path, "").want(http.StatusOK).Body.String(); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// The same credential must be nowhere but in the sealed store, and shown
// nowhere but as a mask.
func TestCredentialsAreSealed(t *testing.T) {
	s := serve(t)
	secrets := make([]string, 6)
	for i := range secrets {
		var b [12]byte
		_, _ = rand.Read(b[:])
		secrets[i] = "canary-" + hex.EncodeToString(b[:])
	}
	uuid := s.node(fmt.Sprintf(`{"driver": "fake-hardware", "driver_info": {"redfish_address": "https://127.0.0.9",
		"redfish_password": %q, "snmp_auth_key": %q, "deep": {"er": [{"my_secret": %q}]}, "auth_tokens": [%q]},
		"instance_info": {"image_pull_secret": %q}}`, secrets[0], secrets[1], secrets[2], secrets[3], secrets[4]))
	s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.Available })
	s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, fmt.Sprintf(`[{"op":"add","path":"/driver_info/ipmi_password","value":%q}]`, secrets[5])).want(http.StatusOK)
	drive := base64.StdEncoding.EncodeToString([]byte(secrets[0]))
	s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", fmt.Sprintf(`{"target":"active","configdrive":%q}`, drive)).want(http.StatusAccepted)
	shown := s.ask("latest", http.MethodGet, "/v1/nodes/"+uuid, "").want(http.StatusOK).Body.String() +
		s.ask("latest", http.MethodGet, "/v1/nodes/detail", "").want(http.StatusOK).Body.String()
	for _, at := range []string{`"redfish_password":"******"`, `"my_secret":"******"`, `"auth_tokens":"******"`, `"configdrive":"******"`} {
		if !strings.Contains(shown, at) {
			t.Errorf("no %s in %s", at, shown)
		}
	}
	var kept bytes.Buffer
	for _, f := range []string{s.file, s.file + "-wal"} {
		if raw, err := os.ReadFile(f); err == nil {
			kept.Write(raw)
		}
	}
	for _, secret := range append(secrets, drive) {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown", secret)
		}
		if bytes.Contains(kept.Bytes(), []byte(secret)) {
			t.Errorf("%s is in the database", secret)
		}
	}
}

func TestAMaskIsNoCredentialOfANewNode(t *testing.T) {
	s := serve(t)
	answer := s.ask("latest", http.MethodPost, "/v1/nodes", `{"driver":"fake-hardware","name":"copy","driver_info":{"redfish_password":"******"}}`).want(http.StatusBadRequest)
	if !strings.Contains(answer.Body.String(), "redfish_password") {
		t.Errorf("the error does not name the key: %s", answer.Body)
	}
	s.ask("latest", http.MethodGet, "/v1/nodes/copy", "").want(http.StatusNotFound)
}

func TestMaskWrittenBackKeepsTheSecret(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware", "driver_info": {"redfish_password": "obviously-fake"}}`)
	before := s.row(uuid).DriverInfo
	s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, `[{"op":"replace","path":"/driver_info","value":{"redfish_password":"******","x":1}}]`).want(http.StatusOK)
	if got := s.row(uuid).DriverInfo.Text("redfish_password"); got != before.Text("redfish_password") {
		t.Errorf("the ref became %q", got)
	}
	refs, err := s.store.SecretRefs(t.Context(), uuid)
	if err != nil || len(refs) != 1 {
		t.Fatalf("refs %v, %v", refs, err)
	}
	s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, `[{"op":"remove","path":"/driver_info/redfish_password"}]`).want(http.StatusOK)
	if refs, _ = s.store.SecretRefs(t.Context(), uuid); len(refs) != 0 {
		t.Errorf("a removed secret is still kept: %v", refs)
	}
}

// A 2xx on a verb is committed with the operation and the wake.
func TestAVerbIsDurable(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware", "name": "n"}`)
	a := s.ask("latest", http.MethodPut, "/v1/nodes/n/states/provision", `{"target": "manage"}`).want(http.StatusAccepted)
	if got := a.Header().Get("Location"); got != "http://example.com/v1/nodes/n/states" {
		t.Errorf("Location %q", got)
	}
	n := s.row(uuid)
	ops, err := s.store.OpenOperations(t.Context(), uuid)
	if err != nil || len(ops) != 1 || ops[0].Verb != "manage" {
		t.Fatalf("operations %v, %v", ops, err)
	}
	if n.ProvisionState != metal.Verifying || n.TargetProvisionState != metal.Manageable || n.Reservation == nil || !n.Wake {
		t.Errorf("the node is %+v", n)
	}
	s.ask("latest", http.MethodPut, "/v1/nodes/n/states/provision", `{"target": "nonsense"}`).want(http.StatusConflict)
	s.ask("latest", http.MethodPut, "/v1/nodes/n/states/power", `{"target": "power on"}`).want(http.StatusConflict)
}

// A list is read to its end by its own links: every node once, in the same
// shape, whatever filters it.
func TestPagesFollowTheirLinks(t *testing.T) {
	s := serve(t, "api.public_endpoint=https://proxy.example/baremetal")
	for i := range 7 {
		s.node(fmt.Sprintf(`{"driver": "fake-hardware", "name": "n%d", "resource_class": "%s"}`, i, []string{"a", "b"}[i%2]))
	}
	cases := map[string]int{
		"/v1/nodes?limit=2": 7, "/v1/nodes?limit=2&sort_key=name&sort_dir=desc": 7, "/v1/nodes?limit=1&fields=uuid,name": 7,
		"/v1/nodes?limit=2&resource_class=a": 4, "/v1/nodes/detail?limit=3": 7, "/v1/nodes?limit=2&conductor=here": 7, "/v1/nodes?limit=2&conductor=x": 0,
	}
	for path, want := range cases {
		seen, keys := map[string]bool{}, ""
		for path != "" {
			page := s.ask("latest", http.MethodGet, path, "").want(http.StatusOK).object()
			list, _ := page["nodes"].([]any)
			for _, item := range list {
				n, _ := item.(map[string]any)
				id, shape := fmt.Sprint(n["uuid"]), strings.Join(sortedKeys(n), ",")
				if seen[id] || keys != "" && keys != shape {
					t.Errorf("%s: %s twice, or as %s", path, id, shape)
				}
				seen[id], keys = true, shape
			}
			next, _ := page["next"].(string)
			if next != "" && !strings.HasPrefix(next, "https://proxy.example/baremetal/v1/nodes") {
				t.Fatalf("next is %s", next)
			}
			path = strings.TrimPrefix(next, "https://proxy.example/baremetal")
		}
		if len(seen) != want {
			t.Errorf("%d nodes, want %d", len(seen), want)
		}
	}
}

func sortedKeys(m map[string]any) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func TestBasicAuthentication(t *testing.T) {
	var b [8]byte
	_, _ = rand.Read(b[:])
	password := hex.EncodeToString(b[:])
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	line := "admin:$2y$" + string(hash[4:]) + "\n"
	if err := os.WriteFile(users, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "DEFAULT.auth_strategy=http_basic", "DEFAULT.http_basic_auth_user_file="+users)
	header := func(user, password string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	for _, c := range []struct {
		header string
		status int
	}{
		{header("admin", password), 200}, {header("admin", password), 200}, {header("admin", "x"), 401}, {header("nobody", password), 401},
		{"Authorization: Bearer x", 400}, {"Authorization: Basic ***", 400}, {"Authorization: Basic", 400}, {"X-Nothing: x", 401},
	} {
		a := s.ask("", http.MethodGet, "/v1/nodes", "", c.header).want(c.status)
		if c.status == 401 {
			if got := a.Header().Get("WWW-Authenticate"); got != `Basic realm="Baremetal API"` {
				t.Errorf("challenge %q", got)
			}
			if inner, _ := a.object()["error"].(map[string]any); inner["code"] != float64(401) || inner["message"] == "" {
				t.Errorf("body %s", a.Body)
			}
		}
	}
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/lookup?addresses=aa:bb:cc:dd:ee:ff"} {
		if a := s.ask("1.22", http.MethodGet, path, ""); a.Code == http.StatusUnauthorized {
			t.Errorf("%s wants authentication", path)
		}
	}
}

func TestBootDevice(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	path := "/v1/nodes/" + uuid + "/management/boot_device"
	s.agent.result = metal.CommandResult{OK: true, ResultJSON: json.RawMessage(`{"device":"pxe","persistent":false}`)}
	if got := s.ask("latest", http.MethodGet, path, "").want(200).object(); got["boot_device"] != "pxe" || got["persistent"] != false {
		t.Errorf("got %v", got)
	}
	s.ask("latest", http.MethodPut, path, `{"boot_device": "pxe", "persistent": "yes"}`).want(204)
	s.ask("latest", http.MethodPut, path, `{"boot_device": "toaster"}`).want(400)
	if len(s.agent.asked) != 2 || s.agent.asked[1].Operation != metal.BootDeviceSet {
		t.Errorf("asked %v", s.agent.asked)
	}
	s.agent.result = metal.CommandResult{ErrorCode: metal.CodeBMCError, Message: "no"}
	s.ask("latest", http.MethodGet, path, "").want(400)
	s.agent.err = metal.Errorf(metal.Unavailable, "The site agent site-1 did not answer in time.")
	if f := s.ask("latest", http.MethodGet, path, "").want(503).fault(); !strings.Contains(fmt.Sprint(f["faultstring"]), "site-1") {
		t.Errorf("fault %v", f)
	}
}

func TestRamdiskToken(t *testing.T) {
	s := serve(t, "agent.require_tls=false")
	uuid := s.node(`{"driver": "fake-hardware"}`)
	s.ask("latest", http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "AA:BB:CC:00:00:01"}`, uuid)).want(201)
	lookup := "/v1/lookup?addresses=00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22:33,aa:bb:cc:00:00:01"
	s.ask("1.62", http.MethodGet, lookup, "").want(404)
	s.put(uuid, func(n *metal.Node) {
		n.ProvisionState, n.TargetProvisionState = metal.CleanWait, metal.Available
	})
	token := func() string {
		config, _ := s.ask("1.62", http.MethodGet, lookup, "").want(200).object()["config"].(map[string]any)
		return fmt.Sprint(config["agent_token"])
	}
	first := token()
	if len(first) != 43 || token() != metal.Masked {
		t.Errorf("token %q, then another", first)
	}
	if strings.Contains(string(s.row(uuid).DriverInternalInfo), first) {
		t.Error("the token is in the row")
	}
	beat := func(token, url string) answer {
		return s.ask("1.68", http.MethodPost, "/v1/heartbeat/"+uuid,
			fmt.Sprintf(`{"callback_url": %q, "agent_version": "11.0", "agent_token": %q}`, url, token))
	}
	beat("wrong", "http://127.0.0.2:9999").want(400)
	beat(first, "ftp://127.0.0.2").want(400)
	beat(first, "http://127.0.0.2:9999").want(202)
	beat(first, "http://127.0.0.3:9999").want(400)
	if got := s.row(uuid); got.DriverInternalInfo.Text("agent_url") != "http://127.0.0.2:9999" || !got.Wake {
		t.Errorf("the node is %+v", got)
	}
}

func TestLinksBehindAProxy(t *testing.T) {
	headers := []string{"X-Forwarded-Proto: https", "X-Forwarded-Host: metal.example, inner", "X-Forwarded-Prefix: /baremetal/"}
	for set, want := range map[string]string{
		"oslo_middleware.enable_proxy_headers_parsing=true":  "https://metal.example/baremetal/v1/",
		"oslo_middleware.enable_proxy_headers_parsing=false": "http://example.com/v1/",
		"api.public_endpoint=https://fixed.example":          "https://fixed.example/v1/",
	} {
		body := serve(t, set, "api.allowed_hosts=example.com, metal.example").ask("", http.MethodGet, "/", "", headers...).want(http.StatusOK).Body.String()
		if !strings.Contains(body, `"href":"`+want+`"`) {
			t.Errorf("%s: %s", set, body)
		}
	}
}

// A write waits a little for the work on its node, and then goes through.
func TestAWriteWaitsForTheLock(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	host := "here"
	s.put(uuid, func(n *metal.Node) { n.Reservation = &host })
	done := make(chan int)
	go func() {
		r := s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/maintenance", `{"reason": "x"}`)
		done <- r.Code
	}()
	s.put(uuid, func(n *metal.Node) { n.Reservation = nil })
	if got := <-done; got != http.StatusAccepted {
		t.Errorf("status %d", got)
	}
	s.put(uuid, func(n *metal.Node) { n.Reservation = &host })
	if f := s.ask("latest", http.MethodDelete, "/v1/nodes/"+uuid, "").want(http.StatusConflict).fault(); !strings.Contains(fmt.Sprint(f["faultstring"]), host) {
		t.Errorf("the holder is not named: %v", f)
	}
}

// A tear down takes the place of a deployment that waits for the ramdisk.
func TestDeletedEndsAWait(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.Available })
	s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", `{"target": "active"}`).want(http.StatusAccepted)
	s.put(uuid, func(n *metal.Node) { n.ProvisionState, n.Reservation = metal.DeployWait, nil })
	s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", `{"target": "deleted"}`).want(http.StatusAccepted)
	ops, err := s.store.OpenOperations(t.Context(), uuid)
	if err != nil || len(ops) != 1 || ops[0].Verb != "deleted" {
		t.Errorf("operations %v, %v", ops, err)
	}
}
