package rights

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

//go:embed requests.tsv
var requestsTSV string

// request is one row of the table.
type request struct{ rule, name, method, path, body string }

func requests(t *testing.T) []request {
	t.Helper()
	var all []request
	for line := range strings.Lines(requestsTSV) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := append(strings.Split(line, "\t"), "")
		if len(f) < 5 {
			t.Fatalf("requests.tsv: %q", line)
		}
		all = append(all, request{f[0], f[1], f[2], f[3], f[4]})
	}
	return all
}

// client keeps no connection, so that a leak check sees none.
var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

// service is an Ironic or a Ferrule with nodes and ports in it.
type service struct {
	t      *testing.T
	url    string
	master caller            // may do everything
	known  map[string]string // what stands for braces in requests
	fresh  int               // how many things were made for one request
	heard  func(method, path string, a answer)
}

// version is that of every request.
const version = "1.104"

// instance is that of n-leased.
const instance = "5e5e5e5e-0000-4000-8000-000000000001"

// furnish makes the nodes and ports that requests are about.
func furnish(t *testing.T, url string, master caller, projects map[string]string) *service {
	t.Helper()
	s := &service{t: t, url: url, master: master, known: map[string]string{}}
	for _, name := range []string{"blue", "green", "red"} {
		s.known[name] = projects[name]
	}
	for i, n := range []struct{ name, owner, lessee string }{
		{"leased", "blue", "green"}, {"own", "blue", ""}, {"other", "red", ""}, {"free", "", ""},
	} {
		s.known[n.name] = s.node("n-"+n.name, projects[n.owner], projects[n.lessee])
		s.must(http.MethodPatch, "/v1/nodes/"+s.known[n.name], []any{map[string]any{"op": "add", "path": "/shard", "value": "s"}})
		s.known[n.name+"group"] = s.part("/v1/portgroups", s.known[n.name], map[string]any{"name": "g-" + n.name})
		s.known[n.name+"target"] = s.target(s.known[n.name])
		s.known[n.name+"connector"] = s.connector(s.known[n.name])
		s.known[n.name+"port"] = s.port(s.known[n.name], fmt.Sprintf("52:54:00:00:00:%02x", i+1), "p-"+n.name)
	}
	s.must(http.MethodPatch, "/v1/nodes/"+s.known["leased"], []any{map[string]any{"op": "add", "path": "/instance_uuid", "value": instance}})
	return s
}

func (s *service) node(name, owner, lessee string) string {
	s.t.Helper()
	body := map[string]any{"driver": "fake-hardware", "name": name, "driver_info": map[string]any{"k": "v"}}
	for key, value := range map[string]string{"owner": owner, "lessee": lessee} {
		if value != "" {
			body[key] = value
		}
	}
	return s.must(http.MethodPost, "/v1/nodes", body)["uuid"].(string)
}

func (s *service) port(node, address, name string) string {
	s.t.Helper()
	body := map[string]any{"node_uuid": node, "address": address}
	if name != "" {
		body["name"] = name
	}
	return s.must(http.MethodPost, "/v1/ports", body)["uuid"].(string)
}

// must sends what sets the stage.
func (s *service) must(method, path string, body any) map[string]any {
	s.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			s.t.Fatal(err)
		}
	}
	a := s.send(s.master, method, path, string(text))
	if a.status/100 != 2 {
		s.t.Fatalf("%s %s %s: %d %s", method, path, text, a.status, a.text)
	}
	return a.object
}

// await asks until yes says so.
func (s *service) await(what string, yes func() bool) {
	s.t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for !yes() {
		select {
		case <-late:
			s.t.Fatalf("%s did not come in time", what)
		case <-again.C:
		}
	}
}

// answer is what a service said.
type answer struct {
	status int
	header http.Header
	text   string
	object map[string]any
}

func (s *service) send(who caller, method, path, body string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-OpenStack-Ironic-API-Version", version)
	r.Header.Set("Accept", "application/json")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range who.headers {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(text)}
	_ = json.Unmarshal(text, &a.object) // what is no object has none
	return a
}

// ask sends a request of the table, and says in a word how it went.
func (s *service) ask(who caller, r request) string {
	s.t.Helper()
	path := s.fill(r.path)
	a := s.send(who, r.method, path, s.fill(r.body))
	s.heard(r.method, path, a)
	if strings.HasSuffix(r.rule, "~") && a.let() {
		return "let"
	}
	return s.word(a)
}

// let says whether the caller came past the policies, whatever came of it.
func (a *answer) let() bool {
	switch a.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return false
	case http.StatusInternalServerError:
		return !strings.Contains(a.text, "requires a scope of")
	}
	return true
}

// word is an answer without what differs from run to run: the status, and the
// policy that refused, or what is seen and how much of it is left out.
func (s *service) word(a answer) string {
	word := fmt.Sprint(a.status)
	switch {
	case a.status == http.StatusUnauthorized:
		scheme, _, _ := strings.Cut(a.header.Get("WWW-Authenticate"), " ")
		return word + " " + scheme
	case a.status == http.StatusForbidden:
		const resource = "denied to the following resource: "
		if _, name, found := strings.Cut(a.text, resource); found {
			end := strings.IndexAny(name, `". `)
			if name = strings.TrimRight(name[:end], `\`); strings.HasPrefix(name, "%") {
				return word // Ironic forgets to say which
			}
			return word + " " + name
		}
		return word
	case a.status/100 != 2:
		return word
	}
	if owner, ok := a.object["owner"].(string); ok && a.status == http.StatusCreated {
		word += " of " + s.project(owner)
	}
	for _, kind := range []string{"nodes", "ports", "portgroups", "targets", "connectors", "chassis", "allocations", "deploy_templates", "inspection_rules", "runbooks"} {
		// A node has links of its own under such a name, and so has a document.
		list, ok := a.object[kind].([]any)
		if ok && a.object["uuid"] == nil && a.object["id"] == nil {
			return word + " " + s.seen(list)
		}
	}
	if hidden := redacted(a.object); len(hidden) > 0 {
		word += " without " + strings.Join(hidden, ",")
	}
	return word
}

func (s *service) project(id string) string {
	for _, name := range []string{"blue", "green", "red"} {
		if s.known[name] == id {
			return name
		}
	}
	return "somebody"
}

// seen names the stage's own things in a list, each with the number of fields
// that are left out.
func (s *service) seen(list []any) string {
	names := map[string]string{}
	for name, uuid := range s.known {
		names[uuid] = name
	}
	for _, name := range []string{"leased", "own", "other", "free"} {
		names["n-"+name] = name
		for _, part := range []string{"port", "group", "target", "connector"} {
			names[s.known[name+part]] = name
		}
	}
	var all []string
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, ok := names[fmt.Sprint(object["uuid"])]
		if !ok {
			name, ok = names[fmt.Sprint(object["name"])]
		}
		if !ok {
			continue
		}
		if hidden := redacted(object); len(hidden) > 0 {
			name += fmt.Sprintf("-%d", len(hidden))
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return "[" + strings.Join(all, " ") + "]"
}

// redacted are the fields that hold words in place of their value.
func redacted(object map[string]any) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		text, err := json.Marshal(object[key])
		if err == nil && bytes.Contains(text, []byte("Redacted")) {
			all = append(all, key)
		}
	}
	return all
}
