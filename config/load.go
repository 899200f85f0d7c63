package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Sources are the places that options come from, weakest first.
type Sources struct {
	Files   []string // later files win
	Environ []string // as os.Environ gives it
	Set     []string // section.option=value; later ones win
	Flags   []Flag   // stronger than all of these
}

// Flag is an option that a program's own flag says.
type Flag struct{ Flag, Option, Value string } // such as --listen, api.port, 6385

// given is one option as one source gave it.
type given struct {
	option Option
	value  string
	where  string
}

// Load reads all sources. The error names every mistake, each with its place,
// not only the first.
func Load(from Sources) (*Config, error) {
	var l loader
	for _, file := range from.Files {
		l.readFile(file)
	}
	l.readEnvironment(from.Environ)
	l.readOverrides(from.Set)
	for _, f := range from.Flags {
		l.readOverride(f.Flag, f.Option, f.Value)
	}
	c, err := l.finish()
	if err != nil {
		return nil, err
	}
	c.Files = slices.Clone(from.Files)
	return c, nil
}

// Defaults is the configuration of nothing said.
func Defaults() *Config {
	c, err := Load(Sources{})
	if err != nil {
		panic("config: defaults: " + err.Error()) // a broken catalogue, caught by every test
	}
	return c
}

// loader collects what the sources say, and their mistakes.
type loader struct {
	found    []given
	mistakes []error
}

func (l *loader) mistake(format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf(format, args...))
}

func (l *loader) readFile(file string) {
	f, err := os.Open(file)
	if err != nil {
		l.mistakes = append(l.mistakes, fmt.Errorf("configuration: %w", err))
		return
	}
	defer f.Close()
	assignments, err := parseINI(f)
	if err != nil {
		l.mistake("%s: %w", file, err)
		return
	}
	for _, a := range assignments {
		where := fmt.Sprintf("%s:%d", file, a.line)
		if option, ok := theCatalogue().find(a.section, a.name); ok {
			l.found = append(l.found, given{option, a.value, where})
			continue
		}
		l.mistake("%s: %s", where, unknownOption(a.section, a.name))
	}
}

// unknownOption says that a name is unknown and which one may have been meant.
func unknownOption(section, name string) string {
	text := fmt.Sprintf("unknown option [%s] %s", section, name)
	if near := theCatalogue().nearest(section, name); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// readEnvironment takes OS_SECTION__OPTION. A variable whose section is not
// ours belongs to someone else and is left alone.
func (l *loader) readEnvironment(environ []string) {
	c := theCatalogue()
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		variable, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(variable, "OS_")
		section, name, pair := strings.Cut(rest, "__")
		if !ours || !pair {
			continue
		}
		if section != "DEFAULT" {
			section = strings.ToLower(section)
		}
		if !c.sections[section] {
			continue
		}
		option, ok := c.find(section, strings.ToLower(name))
		if !ok {
			l.mistake("environment %s: %s", variable, unknownOption(section, strings.ToLower(name)))
			continue
		}
		l.found = append(l.found, given{option, value, "environment " + variable})
	}
}

func (l *loader) readOverrides(overrides []string) {
	for _, override := range overrides {
		key, value, assigned := strings.Cut(override, "=")
		if !assigned || !strings.Contains(key, ".") {
			l.mistake("--set %s: must be section.option=value", key)
			continue
		}
		l.readOverride("--set "+key, strings.TrimSpace(key), value)
	}
}

func (l *loader) readOverride(where, key, value string) {
	section, name, _ := strings.Cut(key, ".")
	option, ok := theCatalogue().find(sectionName(section), name)
	if !ok {
		l.mistake("%s: %s", where, unknownOption(section, name))
		return
	}
	l.found = append(l.found, given{option, value, where})
}

// finish turns what was collected into a Config.
func (l *loader) finish() (*Config, error) {
	c := &Config{set: map[string]string{}}
	values := map[string][]given{}
	warned := map[string]bool{}
	for _, g := range l.found {
		key := g.option.Key()
		c.set[key] = g.where
		values[key] = append(values[key], g)
		if g.option.Status == NoMeaning && !warned[key] {
			warned[key] = true
			c.Warnings = append(c.Warnings, Warning{Option: key, Where: g.where, Reason: g.option.Note})
		}
	}
	l.mistakes = append(l.mistakes, fill(c, values)...)
	if len(l.mistakes) == 0 {
		l.mistakes = append(l.mistakes, c.check()...)
	}
	if len(l.mistakes) > 0 {
		return nil, errors.Join(l.mistakes...)
	}
	return c, nil
}
