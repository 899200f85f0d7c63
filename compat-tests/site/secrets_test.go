package site_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
	"ferrule/lab"
	"ferrule/lab/iso"
	"ferrule/lab/ramdisk"
	"ferrule/lab/redfish"
)

// The canaries are random letters and digits; what surrounds them in a password
// is what encodings change.
func canary() string { return rand.Text() }

const debugConfig = `[DEFAULT]
debug = True
enabled_rescue_interfaces = no-rescue,fake
`

// secretRun is a run of which everything is kept that could hold a credential.
type secretRun struct {
	*rig
	tap       *tap
	answers   *answers
	database  string // PostgreSQL's URL; "" for SQLite
	processes *watched
	needles   []needle
	account   needle
	tokens    []string
	hidden    string // in the last config drive
	file      string // in the arguments of a deploy template's step

	mu       sync.Mutex
	injected []string // what ramdisks got in its place
	asked    []byte   // all that ramdisks were asked
}

func TestNoCredentialLiesAbout(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		r := leadSecretLives(t, "")
		if len(searchFolder(t, r.DataDir, []needle{r.account}, nil)) == 0 {
			t.Error("the database does not name the BMC's account")
		}
		r.searchAll("at the end")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		r := leadSecretLives(t, env.Postgres(t))
		r.searchAll("at the end")
		r.searchDatabaseFiles()
	})
}

// leadSecretLives takes two nodes through their life; the second one gets its
// config drive ready made, and a wrong password first.
func leadSecretLives(t *testing.T, database string) *secretRun {
	t.Helper()
	password := "p+/ " + canary() + "&=\"<é"
	username := "u-" + canary()
	r := &secretRun{tap: newTap(t), account: newNeedle("the account", username), database: database}
	r.rig = emulate(t, lab.Config{Servers: 2, Username: username, Password: password, Hook: r.seeStep})
	args := r.tap.link(t)
	if database != "" {
		args = append(args, "--set", "store.connection="+database)
	}
	r.Plane = plane.New(t, plane.Options{Config: debugConfig, Args: args})
	r.Launch()
	r.processes = watchProcesses(t, r.PID())
	r.AwaitReady()
	direct := r.URL
	r.answers = keepAnswers(t, direct)
	r.URL = r.answers.server.URL
	r.needle("the BMC's password", strings.Trim(password, "p+/ &=\"<é"))

	first, second := r.enrol(r.server(0), nil), r.enrol(r.server(1), nil)
	r.tryWrongPassword(second, password)
	r.hide(second, password)
	r.throwRefs(first, second)
	r.rescue()
	r.keepElsewhere()
	r.joinAnother(direct)
	for i, node := range []string{first, second} {
		r.lead(node, r.server(i), i == 1)
	}
	for i := range 2 {
		checkLogins(t, r.server(i), username, password)
	}
	if !slices.Equal(r.injected, []string{r.file, r.file}) {
		t.Errorf("the ramdisks got %d values for the template's credential, or others", len(r.injected))
	}
	r.checkAsked()
	if len(r.tokens) < 6 {
		t.Errorf("%d tokens were seen: fewer than the boots of ramdisks", len(r.tokens))
	}
	return r
}

func (r *secretRun) needle(name, secret string) {
	r.t.Helper()
	if len(secret) < 20 {
		r.t.Fatalf("the canary for %s is cut short: %d letters", name, len(secret))
	}
	r.needles = append(r.needles, newNeedle(name, secret))
}

func (r *secretRun) tryWrongPassword(node, right string) {
	r.t.Helper()
	wrong := canary()
	r.needle("the wrong password", wrong)
	r.patch(node, "/driver_info/redfish_password", wrong)
	r.Provision(node, "manage", nil)
	failed := r.rested(node)
	if said, _ := failed["last_error"].(string); !strings.Contains(said, "rejected the credentials") {
		r.t.Errorf("a wrong password: %v", failed["last_error"])
	}
	r.patch(node, "/driver_info/redfish_password", right)
}

// hide writes credentials where they are not expected, and asks for them in
// ways that could give them back.
func (r *secretRun) hide(node, password string) {
	r.t.Helper()
	deep, listed, snmp := canary(), canary(), canary()
	r.needle("a password far inside", deep)
	r.needle("a password in a list", listed)
	r.needle("a key of SNMP", snmp)
	path := "/v1/nodes/" + node
	r.patch(node, "/driver_info/vendor", map[string]any{
		"deep": map[string]any{"admin_password": "x" + deep}, "list": []any{map[string]any{"auth_token": listed}},
	})
	r.patch(node, "/driver_info/snmp_auth_key", snmp)
	for _, operation := range []map[string]any{
		{"op": "test", "path": "/driver_info/redfish_password", "value": password},
		{"op": "copy", "from": "/driver_info/redfish_password", "path": "/extra/copied"},
		{"op": "copy", "from": "/driver_info/vendor", "path": "/extra/vendor"},
		{"op": "replace", "path": "/driver_info", "value": password + " is no object"},
		{"op": "add", "path": "/driver_info/redfish_password/below", "value": password},
	} {
		r.Call(http.MethodPatch, path, []map[string]any{operation})
	}
	r.readAll(node)
	r.patch(node, "/driver_info/redfish_password", password)
	r.Must(http.MethodPatch, path, []map[string]any{
		{"op": "remove", "path": "/driver_info/vendor"}, {"op": "remove", "path": "/driver_info/snmp_auth_key"},
	})
}

// throwRefs writes the refs of both nodes' passwords where they do not belong,
// so that a ramdisk or a BMC might be sent what they stand for, or lose it.
func (r *secretRun) throwRefs(first, second string) {
	r.t.Helper()
	path := "/v1/nodes/" + first
	for _, ref := range []string{
		"secret://tenant/nodes/" + second + "/driver_info/redfish_password", "secret://tenant/nodes/" + first + "/driver_info/redfish_password",
		"secret://tenant/nodes/" + second + "/driver_internal_info/agent_secret_token", "secret://fleet/x", "vault://x", "env://FERRULE_SECRET_X",
	} {
		step := func(ordinal string) map[string]any {
			return map[string]any{"interface": "deploy", "step": "any", ordinal: 1, "args": map[string]any{"x": ref}}
		}
		for _, c := range []struct {
			method, path string
			body         any
		}{
			{http.MethodPost, "/v1/deploy_templates", map[string]any{"name": "CUSTOM_REF", "steps": []any{step("priority")}}},
			{http.MethodPost, "/v1/runbooks", map[string]any{"name": "CUSTOM_REF", "steps": []any{step("order")}}},
			{http.MethodPut, path + "/states/provision", map[string]any{"target": "clean", "clean_steps": []any{step("order")}}},
			{http.MethodPatch, path, []any{map[string]any{"op": "add", "path": "/instance_info/x", "value": map[string]any{"deep": []any{ref}}}}},
			{http.MethodPatch, path, []any{map[string]any{"op": "add", "path": "/driver_info/redfish_username", "value": ref}}},
			{http.MethodPatch, path, []any{map[string]any{"op": "add", "path": "/driver_info/kernel_append_params", "value": ref}}},
			{http.MethodPatch, path, []any{map[string]any{"op": "add", "path": "/extra/x", "value": map[string]any{ref: 1}}}},
		} {
			if a := r.Call(c.method, c.path, c.body); a.Status != http.StatusForbidden {
				r.t.Errorf("%s %s with %s: %+v", c.method, c.path, ref, a)
			}
		}
	}
}

// checkAsked looks into all that ramdisks were asked: of the secrets of a node
// only its config drive, its steps' own and its token reach one.
func (r *secretRun) checkAsked() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !bytes.Contains(r.asked, []byte("inject_files")) {
		r.t.Errorf("what ramdisks were asked was not seen: %d bytes", len(r.asked))
	}
	for _, n := range r.needles {
		if strings.Contains(n.name, "password") && n.name != "the rescue password" && len(search(r.asked, []needle{n})) > 0 {
			r.t.Errorf("a ramdisk was sent %s", n.name)
		}
	}
	if bytes.Contains(r.asked, []byte("secret://")) {
		r.t.Error("a ramdisk was sent a ref")
	}
}

// keepElsewhere writes credentials into what belongs to no node: a deploy
// template, which each deployment uses, a runbook, and inspection rules, which
// each inspection runs.
func (r *secretRun) keepElsewhere() {
	r.t.Helper()
	r.file = canary()
	inRunbook, inRule, hidden := canary(), canary(), canary()
	r.needle("a deploy template's credential", r.file)
	r.needle("a runbook's credential", inRunbook)
	r.needle("a credential that an inspection rule sets", inRule)
	r.needle("a sensitive rule's value", hidden)
	step := func(ordinal, secret string) map[string]any {
		return map[string]any{"interface": "deploy", "step": "inject_files", ordinal: 70, "args": map[string]any{
			"files": []any{map[string]any{"path": "/etc/x", "content": "YQ==", "auth_token": secret}},
		}}
	}
	r.Must(http.MethodPost, "/v1/deploy_templates", map[string]any{"name": injecting, "steps": []any{step("priority", r.file)}})
	r.Must(http.MethodPost, "/v1/runbooks", map[string]any{"name": "CUSTOM_RUNBOOK", "steps": []any{step("order", inRunbook)}})
	set := func(path, value string) map[string]any {
		return map[string]any{"op": "set-attribute", "args": map[string]any{"path": path, "value": value}}
	}
	r.Must(http.MethodPost, "/v1/inspection_rules", map[string]any{
		"conditions": []any{}, "actions": []any{set("driver_info/vendor_password", inRule), set("extra/copied", "{node.driver_info[vendor_password]}")},
	})
	r.Must(http.MethodPost, "/v1/inspection_rules", map[string]any{
		"sensitive": true, "actions": []any{set("driver_info/deep/api_token", hidden)},
		"conditions": []any{map[string]any{"op": "!eq", "args": map[string]any{"values": []any{"{node.uuid}", hidden}}}},
	})
}

// injecting is the trait that names the deploy template.
const injecting = "CUSTOM_INJECTING"

// seeStep looks at what the ramdisk of a machine is asked for.
func (r *secretRun) seeStep(_ context.Context, _ string, call ramdisk.Call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	text, _ := json.Marshal(call)
	r.asked = append(append(r.asked, text...), '\n')
	if call.Step != "inject_files" {
		return nil
	}
	files, _ := call.Args["files"].([]any)
	file, _ := files[0].(map[string]any)
	value, _ := file["auth_token"].(string)
	r.injected = append(r.injected, value)
	return nil
}

// rescue takes a node of fake hardware into rescue, with a password.
func (r *secretRun) rescue() {
	r.t.Helper()
	hidden := canary()
	r.needle("the rescue password", hidden)
	node := r.Must(http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware", "rescue_interface": "fake"})["uuid"].(string)
	for _, step := range []struct{ target, end string }{{"manage", "manageable"}, {"provide", "available"}, {"active", "active"}} {
		r.verb(node, step.target, step.end, nil)
	}
	r.verb(node, "rescue", "rescue", map[string]any{"rescue_password": hidden})
	r.readAll(node)
	r.verb(node, "unrescue", "active", nil)
}

// joinAnother lets another agent join, whose folder is searched with the rest.
func (r *secretRun) joinAnother(api string) {
	r.t.Helper()
	code := must(r.t, "join-code", "--site", "elsewhere", "--endpoint", api)
	secret, _ := inside(r.t, code)["s"].(string)
	r.needle("a join code's secret", secret)
	r.needle("a join code", code[len(code)-40:])
	must(r.t, "agent", "join", "--data", filepath.Join(filepath.Dir(r.Log), "elsewhere"), code)
}

// lead takes a node through its life and searches on the way.
func (r *secretRun) lead(node string, s *lab.Server, readyMade bool) {
	r.t.Helper()
	r.verb(node, "manage", "manageable", nil)
	r.verb(node, "inspect", "manageable", nil)
	r.noteToken(s)
	r.verb(node, "provide", "available", nil)
	r.noteToken(s)
	r.setImage(node)
	r.Must(http.MethodPut, "/v1/nodes/"+node+"/traits", map[string]any{"traits": []string{injecting}})
	r.patch(node, "/instance_info/traits", []string{injecting})
	s.SetStepFaults(map[string]lab.StepFault{"write_image": {Hold: true}})
	r.Provision(node, "active", r.drive(node, readyMade))
	awaitStep(r.t, s, "write_image")
	r.noteToken(s)
	r.readAll(node)
	r.checkMedia(true)
	r.searchAll("while the image is written")
	s.SetStepFaults(nil)
	r.rest(node, "active")
	// The disk shows nothing while its machine looks at it itself.
	until(r.t, "the config drive on the disk", func() bool {
		return strings.Contains(s.Machine.Snapshot().ConfigDrive["openstack/latest/user_data"], r.hidden)
	})
	r.checkMedia(false)
	r.readAll(node)
	r.verb(node, "deleted", "available", nil)
	r.noteToken(s)
	r.checkMedia(false)
	r.readAll(node)
	if !readyMade { // the other stays, so that there is something to search
		r.verb(node, "manage", "manageable", nil)
		r.Must(http.MethodDelete, "/v1/nodes/"+node, nil)
	}
}

// noteToken takes the token that the machine was last booted with.
func (r *secretRun) noteToken(s *lab.Server) {
	r.t.Helper()
	for word := range strings.FieldsSeq(s.Machine.KernelLine()) {
		if token, ok := strings.CutPrefix(word, "ipa-agent-token="); ok {
			if !slices.Contains(r.tokens, token) {
				r.tokens = append(r.tokens, token)
				r.needle("a ramdisk's token", token)
			}
			return
		}
	}
	r.t.Error("the machine was booted without a token")
}

// drive is a config drive with a canary in its user data: described, or as
// the packed image that clients make.
func (r *secretRun) drive(node string, readyMade bool) map[string]any {
	r.t.Helper()
	hidden := canary()
	r.hidden = hidden
	r.needle("the config drive", hidden)
	described := drive(node, "#cloud-config\npassword: "+hidden+"\n")
	if !readyMade {
		return described
	}
	volume, err := iso.Build("config-2", map[string][]byte{
		"openstack/latest/meta_data.json": []byte(`{"uuid":"` + node + `"}`),
		"openstack/latest/user_data":      []byte("#cloud-config\npassword: " + hidden + "\n"),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(volume); err != nil {
		r.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(packed.Bytes())
	r.needle("the packed config drive", text[len(text)/2:len(text)/2+40])
	return map[string]any{"configdrive": text}
}

// readAll asks everything that could tell of the node.
func (r *secretRun) readAll(node string) {
	r.t.Helper()
	for _, path := range []string{
		"/v1/nodes/" + node, "/v1/nodes/detail", "/v1/nodes?fields=uuid,driver_info,instance_info,driver_internal_info",
		"/v1/nodes/" + node + "/states", "/v1/nodes/" + node + "/validate", "/v1/nodes/" + node + "/history",
		"/v1/nodes/" + node + "/inventory", "/v1/ports/detail", "/v1/drivers/redfish/properties", "/v1/conductors",
		"/v1/lookup?node_uuid=" + node, "/v1/deploy_templates?detail=true", "/v1/runbooks?detail=true", "/v1/inspection_rules?detail=true", "/ferrule/v1/agents", "/ferrule/v1/sites", "/metrics", "/readyz",
	} {
		r.Call(http.MethodGet, path, nil)
	}
}

// checkMedia looks at what the agent serves: only while a ramdisk runs, and
// for nobody else's eyes.
func (r *secretRun) checkMedia(wanted bool) {
	r.t.Helper()
	folder := filepath.Join(r.DataDir, "agent", "media", "published")
	entries, err := os.ReadDir(folder)
	if err != nil {
		r.t.Fatal(err)
	}
	if wanted != (len(entries) > 0) {
		r.t.Errorf("%d media are served, some wanted: %v", len(entries), wanted)
	}
	token := false
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		info, err := os.Stat(path)
		if err != nil {
			r.t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			r.t.Errorf("the medium %s has mode %s", e.Name(), info.Mode())
		}
		content, err := os.ReadFile(path)
		if err != nil {
			r.t.Fatal(err)
		}
		token = token || bytes.Contains(content, []byte(r.tokens[len(r.tokens)-1]))
	}
	if wanted && !token {
		r.t.Error("the medium that is served does not hold the token: the check is of the wrong one")
	}
}

// searchAll looks into everything that the run has left so far.
func (r *secretRun) searchAll(when string) {
	r.t.Helper()
	isMedium := func(path string) bool {
		return strings.HasPrefix(path, filepath.Join(r.DataDir, "agent", "media", "published"))
	}
	run := filepath.Dir(r.Log)
	found := searchFolder(r.t, run, r.needles, isMedium)
	// The name of the account is none of the secrets: where it is not found,
	// the search is of the wrong places.
	if len(search(r.answers.all(), []needle{r.account})) == 0 {
		r.t.Error("the answers of the API do not name the BMC's account")
	}
	for name, data := range map[string][]byte{"answers of the API": r.answers.all(), "the link": r.tap.passed()} {
		if len(data) < 10_000 {
			r.t.Errorf("%s: only %d bytes were kept", name, len(data))
		}
		for _, there := range search(data, r.needles) {
			found = append(found, name+": "+there)
		}
	}
	if r.database != "" {
		found = append(found, r.searchDump()...)
	}
	if when == "at the end" {
		processes := r.processes.end()
		if !bytes.Contains(processes, []byte(r.DataDir)) {
			r.t.Error("the processes were not looked at")
		}
		for _, there := range search(processes, r.needles) {
			found = append(found, "a process's arguments or environment: "+there)
		}
		r.Stop()
		found = append(found, searchFolder(r.t, run, r.needles, nil)...)
	}
	for _, there := range found {
		r.t.Errorf("%s, in %s", when, there)
	}
}

// searchDump looks into what a backup of the PostgreSQL database holds.
func (r *secretRun) searchDump() (found []string) {
	r.t.Helper()
	dump, err := exec.CommandContext(r.t.Context(), "pg_dump", r.database).Output()
	if err != nil || len(search(dump, []needle{r.account})) == 0 {
		r.t.Errorf("pg_dump: %v; %d bytes, which do not name the BMC's account", err, len(dump))
	}
	for _, there := range search(dump, r.needles) {
		found = append(found, "a dump of the database: "+there)
	}
	return found
}

// searchDatabaseFiles looks into PostgreSQL's own files, the log of its writes
// among them.
func (r *secretRun) searchDatabaseFiles() {
	r.t.Helper()
	u, err := url.Parse(r.database)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, there := range searchFolder(r.t, filepath.Join(u.Query().Get("host"), "data"), r.needles, nil) {
		r.t.Errorf("in the database's files, %s", there)
	}
}

// checkLogins sees that the BMC was given the right account.
func checkLogins(t *testing.T, s *lab.Server, username, password string) {
	t.Helper()
	sum := sha256.Sum256([]byte(password))
	right := func(l redfish.Login) bool {
		return l.Right && l.Username == username && l.PasswordSHA256 == hex.EncodeToString(sum[:])
	}
	if logins := s.BMC.Observed().Logins; !slices.ContainsFunc(logins, right) {
		t.Errorf("the BMC of %s was not given its password: %+v", s.Name, logins)
	}
}
