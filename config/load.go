package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Sources are the places that options come from, weakest first.
type Sources struct {
	// Files are read in this order, later ones stronger. A folder stands for
	// the *.conf files in it, in the order of their names.
	Files   []string
	Environ []string // as os.Environ gives it
	Set     []string // section.option=value; later ones win
	Flags   []Flag   // stronger than all of these
	// Judge finds what the catalogue cannot know: values that name what is not
	// built in, and values that a later step of the start would refuse.
	Judge func(*Config) []Finding
}

// Flag is an option that a program's own flag says.
type Flag struct{ Flag, Option, Value string } // such as --listen, api.port, 6385

// given is one option as one source gave it.
type given struct {
	option Option
	value  string
	where  string
	older  string // the name in the file, where it is not the present one
}

// Load reads all sources. The error names every mistake, each with its place,
// not only the first.
func Load(from Sources) (*Config, error) {
	c, mistakes := readAll(from)
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return c, nil
}

// readAll reads all sources as far as they can be read.
func readAll(from Sources) (*Config, []error) {
	var l loader
	for _, name := range from.Files {
		l.readFileOrFolder(name)
	}
	l.readEnvironment(from.Environ)
	l.readOverrides(from.Set)
	for _, f := range from.Flags {
		l.readOverride(f.Flag, f.Option, f.Value)
	}
	return l.finish(from.Judge)
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
	files    []string
	found    []given
	unknown  []Finding
	mistakes []error
}

func (l *loader) mistake(format string, args ...any) {
	l.mistakes = append(l.mistakes, fmt.Errorf(format, args...))
}

func (l *loader) readFileOrFolder(name string) {
	entries, err := os.ReadDir(name)
	if err != nil { // a file, or nothing at all, which readFile reports
		l.readFile(name)
		return
	}
	for _, entry := range entries { // sorted by name
		if strings.HasSuffix(entry.Name(), ".conf") && !strings.HasPrefix(entry.Name(), ".") {
			l.readFile(filepath.Join(name, entry.Name()))
		}
	}
}

func (l *loader) readFile(file string) {
	f, err := os.Open(file)
	if err != nil {
		l.mistakes = append(l.mistakes, fmt.Errorf("configuration: %w", err))
		return
	}
	defer f.Close()
	l.read(f, file)
}

// read takes the assignments of one file. An unknown option is no mistake, as
// in Ironic: files carry options of other releases and of other programs.
func (l *loader) read(r io.Reader, file string) {
	l.files = append(l.files, file)
	assignments, err := parseINI(r)
	if err != nil {
		l.mistake("%s: %w", file, err)
		return
	}
	for _, a := range assignments {
		where := fmt.Sprintf("%s:%d", file, a.line)
		if option, ok := theCatalogue().find(a.section, a.name); ok {
			l.found = append(l.found, given{option, a.value, where, renamed(a, option)})
			continue
		}
		l.unknown = append(l.unknown, unknownFinding(where, a.section, a.name))
	}
}

// renamed gives an option's older name where the file has that.
func renamed(a assignment, option Option) string {
	if option.Section == a.section && option.Name == strings.ReplaceAll(a.name, "-", "_") {
		return ""
	}
	return "[" + a.section + "] " + a.name
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
			l.unknown = append(l.unknown, unknownFinding("environment "+variable, section, strings.ToLower(name)))
			continue
		}
		l.found = append(l.found, given{option, value, "environment " + variable, ""})
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
	l.found = append(l.found, given{option, value, where, ""})
}

// finish turns what was collected into a Config, with the mistakes in it.
func (l *loader) finish(judge func(*Config) []Finding) (*Config, []error) {
	c := &Config{Files: l.files, set: map[string]string{}}
	values := map[string][]given{}
	for _, g := range l.found {
		key := g.option.Key()
		c.set[key] = g.where
		values[key] = append(values[key], g)
	}
	l.mistakes = append(l.mistakes, fill(c, values)...)
	if len(l.mistakes) == 0 {
		l.mistakes = append(l.mistakes, c.check()...)
	}
	c.Findings = append(findingsOf(values), l.unknown...)
	c.judge(c.ownJudgement())
	if judge != nil {
		c.judge(judge(c))
	}
	return c, l.mistakes
}
