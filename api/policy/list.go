package policy

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// List writes the built-in policies as a file that could be given back: each
// with the calls that ask for it and the tokens that may.
func List(w io.Writer) error {
	var b strings.Builder
	for i, p := range Defaults() {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, operation := range p.Operations {
			fmt.Fprintf(&b, "# %s\n", operation)
		}
		if len(p.Scopes) > 0 {
			fmt.Fprintf(&b, "# scope: %s\n", strings.Join(p.Scopes, ", "))
		}
		fmt.Fprintf(&b, "%q: %q\n", p.Name, p.Check)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// stepPrefix begins the policies that only files have: who may execute a step
// that a user names.
const stepPrefix = "baremetal:step:execute:"

// CheckFile writes what an operator should know of a file of rules, a line each.
// The error names what keeps the file from being used.
func CheckFile(w io.Writer, file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read policy file: %w", err)
	}
	rules, err := parseFile(raw)
	if err != nil {
		return fmt.Errorf("policy file %s: %w", file, err)
	}
	set, complaints, err := compile([]source{{path: file}}, "", true)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range append(complaints, set.idle(file, rules)...) {
		fmt.Fprintf(&b, "%s: %s\n", c.where, c.text)
	}
	fmt.Fprintf(&b, "%s: %d rules, %d remarks\n", file, len(rules), strings.Count(b.String(), "\n"))
	_, err = io.WriteString(w, b.String())
	return err
}

// idle are rules that change nothing: named twice, as built in, or under a name
// that nothing asks for.
func (r *ruleset) idle(file string, rules []fileRule) []complaint {
	builtIn, referred := map[string]Policy{}, map[string]bool{}
	for _, p := range Defaults() {
		builtIn[p.Name] = p
	}
	for _, c := range r.rules {
		for _, name := range references(c) {
			referred[name] = true
		}
	}
	var all []complaint
	seen := map[string]int{}
	for _, rule := range rules {
		say := func(format string, args ...any) {
			all = append(all, complaint{fmt.Sprintf("%s:%d", file, rule.line), rule.name + ": " + fmt.Sprintf(format, args...)})
		}
		if before, twice := seen[rule.name]; twice {
			say("given on line %d already; this one counts", before)
		}
		seen[rule.name] = rule.line
		p, known := builtIn[rule.name]
		switch {
		case known && mustParse(p.Check).String() == rule.check.String():
			say("is what is built in; it can be left out")
		case !known && !referred[rule.name] && !strings.HasPrefix(rule.name, stepPrefix):
			say("nothing asks for a policy of this name")
		}
	}
	return all
}
