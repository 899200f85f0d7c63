package oracle

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// readTable reads the rows of a tab-separated file below its heading.
func readTable(file string, columns int) ([][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	var rows [][]string
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if i == 0 || line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(line, "\t")
		if len(row) != columns {
			return nil, fmt.Errorf("%s:%d: %d columns, not %d", file, i+1, len(row), columns)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// LoadRules reads the ids that requests must name. An id with {state} stands
// for one of each provision state.
func LoadRules(file string) (map[string]string, error) {
	rows, err := readTable(file, 2)
	if err != nil {
		return nil, err
	}
	rules := map[string]string{}
	for _, row := range rows {
		if !strings.Contains(row[0], "{state}") {
			rules[row[0]] = row[1]
			continue
		}
		for _, state := range stateNames() {
			rules[strings.ReplaceAll(row[0], "{state}", state)] = row[1]
		}
	}
	return rules, nil
}

// Allowed is a difference that is wanted.
type Allowed struct {
	Scenario, Request, Place, Class string
	Docs, Why                       string // Docs is "Heading" or "Heading: row" of docs/differences.md

	pattern *regexp.Regexp
	about   *regexp.Regexp // of the scenario and the request alone
	used    bool
}

// Classes of wanted differences.
var classes = map[string]bool{"bug": true, "house": true, "wording": true}

// LoadAllowed reads the list of wanted differences. In its first three columns
// * stands for any text.
func LoadAllowed(file string) ([]*Allowed, error) {
	rows, err := readTable(file, 6)
	if err != nil {
		return nil, err
	}
	var all []*Allowed
	for _, row := range rows {
		a := &Allowed{Scenario: row[0], Request: row[1], Place: row[2], Class: row[3], Docs: row[4], Why: row[5]}
		if !classes[a.Class] {
			return nil, fmt.Errorf("%s: %q is not bug, house or wording", file, a.Class)
		}
		a.pattern = glob(a.Scenario + "\t" + a.Request + "\t" + a.Place)
		a.about = glob(a.Scenario + "\t" + a.Request)
		all = append(all, a)
	}
	return all, nil
}

func glob(pattern string) *regexp.Regexp {
	quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	return regexp.MustCompile(`^` + quoted + `$`)
}

// Unwanted gives the differences that no entry allows, and marks the entries
// that are needed.
func Unwanted(found []Difference, allowed []*Allowed) []Difference {
	var unwanted []Difference
	for _, d := range found {
		ok := false
		for _, a := range allowed {
			if a.pattern.MatchString(d.Scenario + "\t" + d.Text + "\t" + d.Place) {
				a.used, ok = true, true
			}
		}
		if !ok {
			unwanted = append(unwanted, d)
		}
	}
	return unwanted
}

// Unused gives the entries that no longer differ.
func Unused(allowed []*Allowed) []*Allowed {
	var unused []*Allowed
	for _, a := range allowed {
		if !a.used {
			unused = append(unused, a)
		}
	}
	return unused
}
