package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Verdict says what becomes of an option that was given.
type Verdict string

// The verdicts, in the order in which a user should look at them.
const (
	Refused Verdict = "refused"  // a start stops at it
	Loses   Verdict = "lost"     // Ironic would do something that Ferrule does not
	Unknown Verdict = "unknown"  // neither Ironic nor Ferrule has it
	Acts    Verdict = "honoured" // does what it does in Ironic
	Nothing Verdict = "no meaning here"
)

var verdicts = []Verdict{Refused, Loses, Unknown, Acts, Nothing}

// A Finding is what becomes of one option.
type Finding struct {
	Verdict Verdict `json:"verdict"`
	Section string  `json:"section"`
	Option  string  `json:"option"`
	Where   string  `json:"where"`            // file and line, environment variable or --set
	Reason  string  `json:"reason,omitempty"` // never the value, which may be a password
	// Lost is what a user goes without, for a verdict of Loses.
	Lost string `json:"lost,omitempty"`
}

func (f Finding) String() string {
	text := "[" + f.Section + "] " + f.Option
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	if f.Where != "" {
		text = f.Where + ": " + text
	}
	return text
}

// unknownFinding names what may have been meant by an unknown name.
func unknownFinding(where, section, name string) Finding {
	f := Finding{Verdict: Unknown, Section: section, Option: name, Where: where}
	if near := theCatalogue().nearest(section, name); near != "" {
		f.Reason = "did you mean " + near + "?"
	}
	return f
}

// findingsOf judges each option by the catalogue alone.
func findingsOf(values map[string][]given) []Finding {
	var findings []Finding
	for _, found := range values {
		last := found[len(found)-1]
		f := Finding{Section: last.option.Section, Option: last.option.Name, Where: last.where}
		switch {
		case last.option.Status == Honoured:
			f.Verdict = Acts
		case last.option.Status == NoMeaning:
			f.Verdict, f.Reason = Nothing, last.option.Note
		case loses(last.option, found):
			f.Verdict, f.Reason, f.Lost = Loses, last.option.Note, lostBy(last.option)
		default:
			f.Verdict, f.Reason = Nothing, "as it is without the option"
		}
		if last.older != "" {
			f.Option += " (here " + last.older + ")"
		}
		findings = append(findings, f)
	}
	return findings
}

// lostBy is what the closing line names: the thing itself, or the option where
// only that is missing.
func lostBy(option Option) string {
	if strings.HasPrefix(option.Note, later) {
		return "[" + option.Section + "] " + option.Name
	}
	return option.Note
}

// loses says whether an option asks for more than what happens without it.
// What is switched off is not missed.
func loses(option Option, found []given) bool {
	for _, g := range found {
		if !strings.HasPrefix(option.Note, later) && slices.Contains([]string{"", "0", "false", "no", "none", "off"}, strings.ToLower(g.value)) {
			continue
		}
		if !sameValue(option, g.value) {
			return true
		}
	}
	return false
}

// sameValue compares a value with the option's default.
func sameValue(option Option, value string) bool {
	if value == option.Default {
		return true
	}
	kind, err := parseType(option.Type)
	if err != nil {
		return false
	}
	got, err := kind.parse(value)
	if err != nil {
		return false
	}
	want, err := kind.parse(option.Default)
	return err == nil && reflect.DeepEqual(got, want)
}

// judge puts more exact verdicts on options that the catalogue alone calls
// honoured, and adds what no option was given for.
func (c *Config) judge(findings []Finding) {
	for _, f := range findings {
		f.Where = cmp.Or(f.Where, c.set[f.Section+"."+f.Option])
		c.Findings = slices.DeleteFunc(c.Findings, func(old Finding) bool {
			return old.Verdict == Acts && old.Section == f.Section && old.Option == f.Option
		})
		c.Findings = append(c.Findings, f)
	}
}

// ownJudgement is of honoured options whose other values are not built in.
func (c *Config) ownJudgement() []Finding {
	var findings []Finding
	lose := func(section, option, lost, reason string) {
		findings = append(findings, Finding{Verdict: Loses, Section: section, Option: option, Reason: reason, Lost: lost})
	}
	if c.isMySQL() && c.Store.Connection == "" {
		lose("database", "connection", "the database in MySQL", "MySQL is not supported: the database is a SQLite file in "+
			"[store] data_dir, unless [store] connection names a PostgreSQL")
	}
	if c.Deploy.FastTrack {
		lose("deploy", "fast_track", "fast track", "a ramdisk that runs already is booted again")
	}
	return findings
}

// Count is how many findings have a verdict.
func (c *Config) Count(v Verdict) int {
	n := 0
	for _, f := range c.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Losses is what the configuration asks for and does not get, each thing once.
func (c *Config) Losses() []string {
	var losses []string
	for _, f := range c.Findings {
		if f.Verdict == Loses && !slices.Contains(losses, f.Lost) {
			losses = append(losses, f.Lost)
		}
	}
	slices.Sort(losses)
	return losses
}
