package policy

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ferrule/metal/pytext"
)

// Options say where rules come from beside the defaults.
type Options struct {
	File        string   // "": none; one that is not there is none either
	Dirs        []string // folders of more files, which win over File
	Search      []string // where relative names are looked for; nil: the working folder
	Fallback    string   // the rule for a name that has none; "": such a name is refused
	NewDefaults bool     // the defaults alone, without the rules that stood in their place before
	Logger      *slog.Logger
	Now         func() time.Time // nil: time.Now
}

// lookEvery is how often files are looked at for a change.
const lookEvery = time.Second

// Enforcer holds calls against the rules. A change of a file counts within
// seconds; a file that cannot be read then leaves the rules as they were.
type Enforcer struct {
	options Options
	rules   atomic.Pointer[ruleset]
	looked  atomic.Int64 // when files were last looked at, in nanoseconds

	mu     sync.Mutex
	loaded []source
}

// New reads the files. Its error names every mistake in them.
func New(o Options) (*Enforcer, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Enforcer{options: o}
	e.looked.Store(o.Now().UnixNano())
	from, err := o.sources()
	if err != nil {
		return nil, err
	}
	return e, e.load(from)
}

func (e *Enforcer) load(from []source) error {
	e.loaded = from
	set, complaints, err := compile(from, e.options.Fallback, e.options.NewDefaults)
	if err != nil {
		return err
	}
	for _, c := range complaints {
		e.options.Logger.Warn("policy rule needs attention", "where", c.where, "problem", c.text)
	}
	e.rules.Store(set)
	return nil
}

// refresh reads the files anew where they have changed.
func (e *Enforcer) refresh() {
	now := e.options.Now().UnixNano()
	last := e.looked.Load()
	if now-last < int64(lookEvery) || !e.looked.CompareAndSwap(last, now) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	from, err := e.options.sources()
	if err == nil && slices.Equal(from, e.loaded) {
		return
	}
	if err == nil {
		err = e.load(from)
	}
	if err != nil {
		e.options.Logger.Error("policy files not read; the rules stay as they were", "error", err)
	}
}

// Denied is a refusal.
type Denied struct {
	Policy string
	Scope  bool // the token is for something else than the policy asks for, whatever its roles
	text   string
}

func (d *Denied) Error() string { return d.text }

// Authorize refuses, with a *Denied, what the policy of that name does not
// allow. Any other error is a policy that does not exist. A rule's %(name)s is
// looked up in about, and then in the credentials.
func (e *Enforcer) Authorize(name string, credentials, about Values) error {
	e.refresh()
	set := e.rules.Load()
	rule, ok := set.rules[name]
	if !ok {
		return fmt.Errorf("no policy is called %s", name)
	}
	if scopes, scope := set.scopes[name], tokenScope(credentials); len(scopes) > 0 && !slices.Contains(scopes, scope) {
		return &Denied{name, true, fmt.Sprintf("Access was denied to the following resource: %s. It needs a token with %s scope, and this one has %s scope.",
			name, strings.Join(scopes, " or "), scope)}
	}
	allowed, err := rule.allows(&evaluation{rules: set, credentials: credentials, target: about, beside: credentials})
	switch {
	case err != nil:
		e.options.Logger.Error("policy rule cannot be evaluated", "policy", name, "error", err)
		return &Denied{name, false, fmt.Sprintf("Access was denied to the following resource: %s. The rule for it is broken; the server's log tells how.", name)}
	case !allowed:
		return &Denied{name, false, fmt.Sprintf("Access was denied to the following resource: %s. The policy of this name does not allow it to %s.",
			name, describe(credentials))}
	}
	return nil
}

// Allows is Authorize for what is left out rather than refused.
func (e *Enforcer) Allows(name string, credentials, about Values) bool {
	return e.Authorize(name, credentials, about) == nil
}

// Found says whether the policy file is there.
func (e *Enforcer) Found() bool {
	_, ok := e.options.locate(e.options.File)
	return ok
}

// Nobody says whether a policy's rule is the one that allows nobody, so that
// credentials need not be gathered.
func (e *Enforcer) Nobody(name string) bool {
	e.refresh()
	_, none := e.rules.Load().rules[name].(never)
	return none
}

// Has says whether files define a rule, for the policies that only they have.
func (e *Enforcer) Has(name string) bool {
	_, ok := e.rules.Load().rules[name]
	return ok
}

// tokenScope is what a token is for (oslo.policy: Enforcer._enforce_scope).
func tokenScope(credentials Values) string {
	switch {
	case filled(credentials["system_scope"]):
		return "system"
	case filled(credentials["domain_id"]):
		return "domain"
	}
	return "project"
}

func filled(v any) bool { return v != nil && v != "" && v != false }

// describe says who was refused.
func describe(credentials Values) string {
	roles, _ := credentials["roles"].([]string)
	who := "a token without roles"
	if len(roles) > 0 {
		who = "the roles " + strings.Join(roles, ", ")
	}
	switch tokenScope(credentials) {
	case "system":
		return who + " on the system"
	case "domain":
		return fmt.Sprintf("%s in domain %s", who, pytext.Str(credentials["domain_id"]))
	}
	if project, ok := credentials["project_id"].(string); ok && project != "" {
		return fmt.Sprintf("%s in project %s", who, project)
	}
	return who
}
