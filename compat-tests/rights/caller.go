package rights

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"ferrule/compat-tests/env"
)

// caller is who sends a request: what its headers say.
type caller struct {
	name    string
	headers map[string]string
}

// persona is a user with one role on one thing: a project by name, "system" or
// "domain".
type persona struct{ role, on string }

func (p persona) name() string {
	where, ok := map[string]string{"blue": "owner", "green": "lessee", "red": "other"}[p.on]
	if !ok {
		where = p.on
	}
	return where + " " + p.role
}

// personas are all who call under keystone, beside those without a good token.
// What each role implies is Keystone's own business.
var personas = []persona{
	{"admin", "system"}, {"member", "system"}, {"reader", "system"}, {"service", "system"},
	{"admin", "blue"}, {"manager", "blue"}, {"member", "blue"}, {"reader", "blue"}, {"service", "blue"},
	{"admin", "green"}, {"manager", "green"}, {"member", "green"}, {"reader", "green"},
	{"admin", "red"}, {"member", "red"}, {"service", "service"}, {"admin", "domain"},
}

// keystone is a real one with projects and users.
type keystone struct {
	t        *testing.T
	server   *env.KeystoneServer
	admin    string            // token
	projects map[string]string // ids by name
	roles    map[string]string
	password string // of the service and of all personas
}

func newKeystone(t *testing.T) *keystone {
	t.Helper()
	k := &keystone{t: t, server: env.RealKeystone(t), projects: map[string]string{}, roles: map[string]string{}, password: rand.Text()}
	k.admin = k.token("admin", k.server.Password, map[string]any{"system": map[string]any{"all": true}})
	for _, role := range k.call(http.MethodGet, "/roles", nil)["roles"].([]any) {
		role := role.(map[string]any)
		k.roles[role["name"].(string)] = role["id"].(string)
	}
	for _, name := range []string{"blue", "green", "red", "service"} {
		project := k.call(http.MethodPost, "/projects", map[string]any{"project": map[string]any{"name": name, "domain_id": "default"}})
		k.projects[name] = id(project, "project")
	}
	k.grant(k.user("ironic"), persona{"admin", "service"})
	return k
}

func id(object map[string]any, of string) string { return object[of].(map[string]any)["id"].(string) }

// user makes a user; what is wrong with its password is nobody's concern here.
func (k *keystone) user(name string) string {
	k.t.Helper()
	return id(k.call(http.MethodPost, "/users", map[string]any{
		"user": map[string]any{"name": name, "domain_id": "default", "password": k.password},
	}), "user")
}

func (k *keystone) grant(user string, p persona) {
	k.t.Helper()
	path := "/projects/" + k.projects[p.on]
	switch p.on {
	case "system":
		path = "/system"
	case "domain":
		path = "/domains/default"
	}
	k.call(http.MethodPut, path+"/users/"+user+"/roles/"+k.roles[p.role], nil)
}

// callers logs everybody in.
func (k *keystone) callers() []caller {
	k.t.Helper()
	all := []caller{{"nobody", nil}, {"stranger", map[string]string{"X-Auth-Token": rand.Text()}}}
	for _, p := range personas {
		k.grant(k.user(p.name()), p)
		scope := map[string]any{"project": map[string]any{"id": k.projects[p.on]}}
		switch p.on {
		case "system":
			scope = map[string]any{"system": map[string]any{"all": true}}
		case "domain":
			scope = map[string]any{"domain": map[string]any{"id": "default"}}
		}
		all = append(all, caller{p.name(), map[string]string{"X-Auth-Token": k.token(p.name(), k.password, scope)}})
	}
	return all
}

func (k *keystone) token(user, password string, scope map[string]any) string {
	k.t.Helper()
	login := map[string]any{
		"methods":  []string{"password"},
		"password": map[string]any{"user": map[string]any{"name": user, "password": password, "domain": map[string]any{"id": "default"}}},
	}
	_, header := k.send(http.MethodPost, "/auth/tokens", map[string]any{"auth": map[string]any{"identity": login, "scope": scope}})
	return header.Get("X-Subject-Token")
}

func (k *keystone) call(method, path string, body any) map[string]any {
	k.t.Helper()
	text, _ := k.send(method, path, body)
	var object map[string]any
	if len(text) > 0 {
		if err := json.Unmarshal(text, &object); err != nil {
			k.t.Fatalf("Keystone %s %s: %v", method, path, err)
		}
	}
	return object
}

func (k *keystone) send(method, path string, body any) ([]byte, http.Header) {
	k.t.Helper()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			k.t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(k.t.Context(), method, k.server.URL+path, content)
	if err != nil {
		k.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if k.admin != "" {
		request.Header.Set("X-Auth-Token", k.admin)
	}
	response, err := client.Do(request)
	if err != nil {
		k.t.Fatalf("Keystone: %v", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		k.t.Fatalf("Keystone %s %s: %s %v\n%s", method, path, response.Status, err, answer)
	}
	return answer, response.Header
}

// conf is how a service says that it asks this Keystone.
func (k *keystone) conf() string {
	return fmt.Sprintf("[DEFAULT]\nauth_strategy = keystone\n[keystone_authtoken]\nauth_type = password\nauth_url = %s\n"+
		"www_authenticate_uri = %s\nusername = ironic\nuser_domain_name = Default\npassword = %s\nproject_name = service\n"+
		"project_domain_name = Default\n", k.server.URL, k.server.URL, k.password)
}

// basic is a caller by name and password.
func basic(name, user, password string) caller {
	pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	return caller{name, map[string]string{"Authorization": "Basic " + pair}}
}
