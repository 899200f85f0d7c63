package policy

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// callers are the usual ones; p is the project of the node in questions below.
var callers = map[string]*Credentials{
	"system admin":  {SystemScope: "all", Roles: []string{"admin", "manager", "member", "reader"}, IsAdminProject: true},
	"system reader": {SystemScope: "all", Roles: []string{"reader"}},
	"owner member":  {ProjectID: "p", Roles: []string{"member", "reader"}},
	"other admin":   {ProjectID: "q", Roles: []string{"admin", "manager", "member", "reader"}},
	"domain admin":  {DomainID: "d", Roles: []string{"admin", "reader"}},
	"ramdisk":       {IsPublicAPI: true},
}

func newEnforcer(t *testing.T, o Options) *Enforcer {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultsLetWhomIronicLets(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t, Options{NewDefaults: true})
	for _, c := range []struct {
		who, policy string
		target      Values
		want        bool
	}{
		{"system admin", "baremetal:node:create", nil, true},
		{"system reader", "baremetal:node:create", nil, false},
		{"system reader", "baremetal:driver:get", nil, true},
		{"owner member", "baremetal:driver:get", nil, false}, // the policy is for the system alone
		{"owner member", "baremetal:node:get", Values{"node.owner": "p"}, true},
		{"other admin", "baremetal:node:get", Values{"node.owner": "p"}, false},
		{"other admin", "baremetal:node:get", Values{"node.owner": "p", "node.lessee": "q"}, true},
		{"other admin", "baremetal:node:get", Values{"node.owner": nil}, false},
		{"domain admin", "baremetal:node:get", Values{"node.owner": nil}, false}, // a domain is no owner of nodes without one
		{"system admin", "show_password", nil, false},
		{"ramdisk", "baremetal:driver:ipa_lookup", nil, true},
		{"ramdisk", "baremetal:node:get", Values{"node.owner": "p"}, false},
	} {
		if got := e.Allows(c.policy, callers[c.who].Values(), c.target); got != c.want {
			t.Errorf("%s, %s of %v: %v", c.who, c.policy, c.target, got)
		}
	}
}

func TestServiceUsersActForTheSystemWhereThatIsConfigured(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t, Options{NewDefaults: true})
	nova := Credentials{ProjectID: "s", ProjectName: "service", Roles: []string{"service"}}
	elsewhere := Values{"node.owner": "p"}
	if e.Allows("baremetal:node:get", nova.Values(), elsewhere) {
		t.Error("a service user acts for the system without being let")
	}
	nova.ElevatedProject = "service"
	v := nova.Values()
	if !e.Allows("baremetal:node:get", v, elsewhere) {
		t.Error("an elevated service user does not see a node")
	}
}

func TestARefusalSaysWhichPolicyAndWhy(t *testing.T) {
	t.Parallel()
	e := newEnforcer(t, Options{NewDefaults: true})
	for _, c := range []struct{ who, policy, want string }{
		{"owner member", "baremetal:node:update", "resource: baremetal:node:update. The policy of this name does not allow it to the roles member, reader in project p."},
		{"owner member", "baremetal:driver:get", "It needs a token with system scope, and this one has project scope."},
		{"ramdisk", "baremetal:node:get", "does not allow it to a token without roles."},
	} {
		err := e.Authorize(c.policy, callers[c.who].Values(), Values{"node.owner": "other"})
		var denied *Denied
		if !errors.As(err, &denied) || denied.Policy != c.policy || !strings.Contains(denied.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.who, c.policy, err)
		}
	}
	var denied *Denied
	if err := e.Authorize("baremetal:node:fly", nil, nil); err == nil || errors.As(err, &denied) {
		t.Errorf("a policy that does not exist: %v", err)
	}
}

func TestFilesReplaceDefaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "policy.d")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, "'baremetal:node:create': 'role:builder'\nbuilder: 'role:builder'\n'baremetal:node:delete': '!'\n")
	write(t, filepath.Join(folder, "10.yaml"), "'baremetal:node:delete': 'rule:builder'\n")
	write(t, filepath.Join(folder, ".hidden"), "'baremetal:node:delete': '@'\n")
	e := newEnforcer(t, Options{File: file, Dirs: []string{folder, filepath.Join(dir, "none")}, NewDefaults: true})
	builder := (&Credentials{ProjectID: "p", Roles: []string{"builder"}}).Values()
	for _, policy := range []string{"baremetal:node:create", "baremetal:node:delete"} {
		if !e.Allows(policy, builder, nil) || e.Allows(policy, callers["system admin"].Values(), nil) {
			t.Errorf("%s: the files' rule is not in force", policy)
		}
	}
	if !e.Allows("baremetal:driver:get", callers["system reader"].Values(), nil) {
		t.Error("a policy that no file names lost its default")
	}
}

func TestRelativeNamesLieInTheFirstFolderThatHasThem(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := os.Mkdir(filepath.Join(dir, "policy.d"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(second, "policy.yaml"), "'baremetal:node:create': 'role:reader'\n")
	write(t, filepath.Join(second, "policy.d", "a.yaml"), "'baremetal:node:delete': 'role:reader'\n")
	e := newEnforcer(t, Options{File: "policy.yaml", Dirs: []string{"policy.d"}, Search: []string{first, second}, NewDefaults: true})
	reader := callers["system reader"].Values()
	if !e.Found() || !e.Allows("baremetal:node:create", reader, nil) {
		t.Error("the file of the second folder is not in force")
	}
	if e.Allows("baremetal:node:delete", reader, nil) {
		t.Error("the second folder's policy.d counts beside the first one's")
	}
	if !e.Nobody("show_password") || e.Nobody("baremetal:node:create") {
		t.Error("which rules allow nobody is not known")
	}
}

func TestAChangedFileCounts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	e := newEnforcer(t, Options{
		File: file, NewDefaults: true, Now: func() time.Time { return now }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	step := func(text string) bool {
		if text == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		} else {
			write(t, file, text)
		}
		now = now.Add(time.Minute)
		return e.Allows("baremetal:node:create", callers["system reader"].Values(), nil)
	}
	if !step("'baremetal:node:create': 'role:reader'\n") {
		t.Error("a new file does not count")
	}
	if !step("'baremetal:node:create': [broken") || !strings.Contains(log.String(), "the rules stay as they were") {
		t.Errorf("a broken file changed the rules, or nobody was told: %s", log.String())
	}
	if step("'baremetal:node:create': 'role:admin'    \n") {
		t.Error("a mended file does not count")
	}
	if step("") {
		t.Error("a removed file counts still")
	}
}

func TestAFileThatCannotBeHonouredIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 'http://example.org/ask'\n":             "line 1: a: http://example.org/ask asks another server",
		"a: 'role:x or https:example.org:%(name)s'": "asks another server",
		"ok: '@'\na: !\n":                           "line 2: a: a rule is a text, or a list of lists of texts: put the exclamation mark in quotes",
		"a: 5\n":                                    "a rule is a text",
		"- a\n":                                     "each written name: rule",
		"a: [\n":                                    "policy.yaml",
	} {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		write(t, file, text)
		if _, err := New(Options{File: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOlderNamesAndOlderDefaults(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, file, "'baremetal:node:get': 'role:looker'\n")
	e := newEnforcer(t, Options{File: file, NewDefaults: true})
	looker := (&Credentials{ProjectID: "p", Roles: []string{"looker"}}).Values()
	// The history was once part of seeing the node.
	if !e.Allows("baremetal:node:history:get", looker, Values{}) {
		t.Error("a rule under the older name does not count for the newer one")
	}
	admin := (&Credentials{ProjectID: "p", Roles: []string{"admin"}}).Values()
	if e.Allows("baremetal:node:create", admin, nil) {
		t.Error("a project's admin creates nodes by the new defaults")
	}
	if old := newEnforcer(t, Options{NewDefaults: false}); !old.Allows("baremetal:node:create", admin, nil) {
		t.Error("a project's admin does not create nodes though the older defaults hold too")
	}
}

func TestABrokenRuleRefusesAndIsLogged(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, file, "'baremetal:node:create': 'rule:a'\na: 'rule:b'\nb: 'rule:a'\n'baremetal:node:delete': 'project_id:%(x'\n")
	var log bytes.Buffer
	e := newEnforcer(t, Options{File: file, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, policy := range []string{"baremetal:node:create", "baremetal:node:delete"} {
		if e.Allows(policy, callers["system admin"].Values(), nil) {
			t.Errorf("%s: allowed by a broken rule", policy)
		}
		if !strings.Contains(log.String(), "policy="+policy) {
			t.Errorf("%s: not logged: %s", policy, log.String())
		}
	}
}

func TestCheckFileRemarksOnWhatAnOperatorDidNotMean(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	write(t, file, `"baremetal:node:create": "role:admin and system_scope:all or role:service and system_scope:all"
"baremetal:node:craete": "role:admin"
"helper": "role:x"
"baremetal:node:delete": "rule:helper or rule:missing"
"baremetal:node:delete": "rule:helper"
"baremetal:node:get": "admin"
"baremetal:node:validate":
"baremetal:step:execute:bios.reset": "!"
`)
	var out bytes.Buffer
	if err := CheckFile(&out, file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		":2: baremetal:node:craete: nothing asks for a policy of this name",
		":5: baremetal:node:delete: given on line 4 already; this one counts",
		`:6: baremetal:node:get: "admin" is no check, so it allows nobody`,
		":7: baremetal:node:validate: an empty rule allows everybody",
		": 8 rules, ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "helper: nothing") || strings.Contains(out.String(), "bios.reset") {
		t.Errorf("a remark on a good rule:\n%s", out.String())
	}
}

func TestTheListCanBeGivenBackAsAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	var listed, checked bytes.Buffer
	if err := List(&listed); err != nil {
		t.Fatal(err)
	}
	write(t, file, listed.String())
	if err := CheckFile(&checked, file); err != nil {
		t.Fatal(err)
	}
	remarks := strings.Split(strings.TrimSpace(checked.String()), "\n")
	for _, remark := range remarks[:len(remarks)-1] {
		if !strings.HasSuffix(remark, "is what is built in; it can be left out") {
			t.Error(remark)
		}
	}
	if len(remarks)-1 != len(Defaults()) {
		t.Errorf("%d remarks on %d policies", len(remarks)-1, len(Defaults()))
	}
}

func FuzzParseFile(f *testing.F) {
	for _, seed := range []string{"a: 'role:x and (rule:b or not k:%(v)s)'\n", `{"a": [["role:x"], "@"]}`, "a: !\n", "a: &x [*x]\n", "? [a]\n: b\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		rules, err := parseFile(raw)
		if err != nil {
			return
		}
		set := &ruleset{rules: map[string]check{}, from: map[string]string{}}
		for _, r := range rules {
			set.rules[r.name], set.from[r.name] = r.check, "f"
		}
		set.complaints()
		for _, r := range rules {
			// Whatever it says, it is answered.
			_, _ = r.check.allows(&evaluation{rules: set, credentials: callers["system admin"].Values(), target: Values{"node.owner": "p"}})
		}
	})
}
