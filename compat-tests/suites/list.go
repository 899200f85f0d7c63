package suites

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// list is how each test of a suite ends on real Ironic, by the test's name.
type list map[string]string

func listFile(s suite, mode string) string {
	return filepath.Join("recorded", s.name+"."+mode+".tsv")
}

func loadList(t *testing.T, s suite, mode string) list {
	t.Helper()
	l := list{}
	for _, cells := range table(t, listFile(s, mode), 2) {
		l[cells[1]] = cells[0]
	}
	return l
}

func (l list) write(t *testing.T, s suite, mode string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("# on real Ironic\ttest\n")
	for _, test := range slices.Sorted(maps.Keys(l)) {
		b.WriteString(l[test] + "\t" + test + "\n")
	}
	if err := os.WriteFile(listFile(s, mode), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// passing are the tests that pass.
func (l list) passing() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l)), func(test string) bool { return l[test] != "pass" })
}

// failing are the others.
func (l list) failing() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l)), func(test string) bool { return l[test] == "pass" })
}

// judge says what is wrong with how tests ended: each that passes on real Ironic
// has to pass, and each has to be known.
func (l list) judge(ended []outcome) []string {
	var wrong []string
	left := maps.Clone(l)
	for _, o := range ended {
		theirs, listed := l[o.Test]
		delete(left, o.Test)
		switch {
		case !listed:
			wrong = append(wrong, o.Test+" is in no list: go test -update runs it on real Ironic")
		case theirs == "pass" && o.Outcome != "pass":
			wrong = append(wrong, fmt.Sprintf("%s passes on real Ironic; here: %s\n%s", o.Test, o.Outcome, tail(o.Output)))
		}
	}
	for _, test := range slices.Sorted(maps.Keys(left)) {
		wrong = append(wrong, test+" did not run")
	}
	return wrong
}

// loadReasons says why tests do not pass on real Ironic.
func loadReasons(t *testing.T) map[string]string {
	t.Helper()
	reasons := map[string]string{}
	for _, cells := range table(t, "reasons.tsv", 2) {
		reasons[cells[0]] = cells[1]
	}
	return reasons
}

// table reads lines of cells, without those that are comments.
func table(t *testing.T, file string, cells int) [][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		row := strings.Split(line, "\t")
		if len(row) != cells {
			t.Fatalf("%s: %q", file, line)
		}
		rows = append(rows, row)
	}
	return rows
}
