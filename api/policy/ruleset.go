package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ruleset is the rules that are in force, by name. It does not change.
type ruleset struct {
	rules    map[string]check
	scopes   map[string][]string // of registered policies, by name
	fallback string              // the rule for a name that has none
	from     map[string]string   // the file that a rule was read from
}

// find is the rule of a name. A rule that refers to one that is not there is
// refused, unless there is a rule for that.
func (r *ruleset) find(name string) (check, bool) {
	if c, ok := r.rules[name]; ok {
		return c, true
	}
	c, ok := r.rules[r.fallback]
	return c, ok && r.fallback != ""
}

// source is a file of rules as it was read.
type source struct {
	path     string
	modified time.Time
	size     int64
}

// sources are the files that there are now: the policy file, then those of the
// folders in order of their names (oslo.policy: Enforcer.load_rules).
func (o *Options) sources() ([]source, error) {
	var found []source
	add := func(path string) error {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.Mode().IsRegular() {
			found = append(found, source{path, info.ModTime(), info.Size()})
		}
		return err
	}
	if file, ok := o.locate(o.File); ok {
		if err := add(file); err != nil {
			return nil, fmt.Errorf("look at policy file: %w", err)
		}
	}
	for _, name := range o.Dirs {
		dir, ok := o.locate(name)
		if !ok {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("look into policy folder: %w", err)
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			if err := add(filepath.Join(dir, entry.Name())); err != nil {
				return nil, fmt.Errorf("look at policy file: %w", err)
			}
		}
	}
	return found, nil
}

// locate finds what a relative name means: the first that there is.
func (o *Options) locate(name string) (path string, ok bool) {
	if name == "" {
		return "", false
	}
	search := o.Search
	if filepath.IsAbs(name) || len(search) == 0 {
		search = []string{""}
	}
	for _, folder := range search {
		path = filepath.Join(folder, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, true
		}
	}
	return "", false
}

// complaint is what an operator should know of a rule in a file.
type complaint struct {
	where string
	text  string
}

// compile joins the files' rules with the defaults. newDefaults leaves out the
// rules that stood in the defaults' place before.
func compile(from []source, fallback string, newDefaults bool) (*ruleset, []complaint, error) {
	set := &ruleset{rules: map[string]check{}, scopes: map[string][]string{}, fallback: fallback, from: map[string]string{}}
	var complaints []complaint
	var mistakes []error
	for _, s := range from {
		raw, err := os.ReadFile(s.path)
		if err != nil {
			return nil, nil, fmt.Errorf("read policy file: %w", err)
		}
		rules, err := parseFile(raw)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("policy file %s: %w", s.path, err))
		}
		for _, r := range rules {
			set.rules[r.name], set.from[r.name] = r.check, s.path
			if r.complaint != nil {
				complaints = append(complaints, complaint{fmt.Sprintf("%s:%d", s.path, r.line), r.name + ": " + r.complaint.Error()})
			}
		}
	}
	if len(mistakes) > 0 {
		return nil, nil, errors.Join(mistakes...)
	}
	fromFiles := make(map[string]check, len(set.rules))
	for name, c := range set.rules {
		fromFiles[name] = c
	}
	for _, p := range Defaults() {
		set.scopes[p.Name] = p.Scopes
		if _, given := fromFiles[p.Name]; !given {
			set.rules[p.Name] = p.inForce(fromFiles, newDefaults)
		}
	}
	return set, append(complaints, set.complaints()...), nil
}

// inForce is a policy's rule where no file has one of its name (oslo.policy:
// Enforcer._handle_deprecated_rule).
func (p *Policy) inForce(fromFiles map[string]check, newDefaults bool) check {
	rule := mustParse(p.Check)
	if p.DeprecatedName == "" {
		return rule
	}
	old := mustParse(p.DeprecatedCheck)
	if given, ok := fromFiles[p.DeprecatedName]; ok && p.DeprecatedName != p.Name {
		if s := given.String(); s != old.String() && s != "rule:"+p.Name {
			return given
		}
	}
	if !newDefaults && p.DeprecatedCheck != p.Check {
		return &anyOf{rule, old}
	}
	return rule
}

func mustParse(rule string) check {
	c, err := parseText(rule)
	if err != nil {
		panic("policy: built-in rule: " + err.Error())
	}
	return c
}

// complaints are of rules that refer to nothing, or to themselves.
func (r *ruleset) complaints() []complaint {
	var all []complaint
	for _, name := range sortedKeys(r.from) {
		where := r.from[name]
		for _, other := range references(r.rules[name]) {
			if _, ok := r.rules[other]; !ok {
				all = append(all, complaint{where, fmt.Sprintf("%s refers to rule:%s, which there is not", name, other)})
			}
		}
		if r.circular(r.rules[name], nil) {
			all = append(all, complaint{where, name + " refers to itself by way of other rules"})
		}
	}
	return all
}

func (r *ruleset) circular(c check, seen []string) bool {
	for _, name := range references(c) {
		if slices.Contains(seen, name) {
			return true
		}
		if next, ok := r.rules[name]; ok && r.circular(next, append(slices.Clone(seen), name)) {
			return true
		}
	}
	return false
}

// references are the rules that a rule names.
func references(c check) []string {
	switch c := c.(type) {
	case *ruleCheck:
		return []string{c.name}
	case not:
		return references(c.check)
	case *allOf:
		return referencesOf(*c)
	case *anyOf:
		return referencesOf(*c)
	}
	return nil
}

func referencesOf(checks []check) []string {
	var all []string
	for _, c := range checks {
		all = append(all, references(c)...)
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
