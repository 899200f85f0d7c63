package oracle

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// documented are the rows of docs/differences.md by the heading above them, each
// as its first cell without backquotes.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, heading := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimLeft(line, "# ")
			rows[heading] = nil
		case strings.HasPrefix(line, "| "):
			cell, _, _ := strings.Cut(line[2:], " | ")
			rows[heading] = append(rows[heading], strings.ReplaceAll(cell, "`", ""))
		}
	}
	return rows
}

// What users may find to differ is written down for them: each difference that
// the oracle allows names its row, or its heading where a heading says it all.
func TestAllowedDifferencesAreDocumented(t *testing.T) {
	allowed, err := LoadAllowed("differences.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := documented(t)
	for _, a := range allowed {
		heading, row, _ := strings.Cut(a.Docs, ": ")
		under, there := rows[heading]
		begins := func(cell string) bool { return strings.HasPrefix(cell, row) }
		if !there || row != "" && !slices.ContainsFunc(under, begins) {
			t.Errorf("%s %s: docs/differences.md has no %q", a.Scenario, a.Request, a.Docs)
		}
	}
}
