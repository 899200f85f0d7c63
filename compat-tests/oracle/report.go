package oracle

import (
	"context"
	"fmt"
	"strings"
)

// Compare plays scenarios on a server and compares with the recording.
func Compare(ctx context.Context, server *Server, scenarios []Scenario, recording Recording) Report {
	var r Report
	for _, s := range scenarios {
		want := recording[s.Key()]
		got, err := Play(ctx, server, s, want)
		if err != nil {
			r.Broken = append(r.Broken, fmt.Sprintf("%s: %v", s.Key(), err))
		}
		r.Requests += len(got)
		after := ""
		for i := 0; i < len(got) && i < len(want); i++ {
			found := compare(want[i], got[i])
			for j := range found {
				found[j].Scenario = s.Key()
				found[j].Text = describeStep(want[i].Text, after)
			}
			r.Found = append(r.Found, found...)
			if strings.HasPrefix(want[i].Text, "@") {
				after = want[i].Text
			}
		}
	}
	return r
}

// describeStep says after which request a wait comes.
func describeStep(text, after string) string {
	if strings.HasPrefix(text, "@") || after == "" {
		return text
	}
	return text + " after " + after
}

// Report is the outcome of a comparison.
type Report struct {
	Requests int
	Found    []Difference
	Broken   []string // scenarios that could not be played to the end
}

// describe writes the first differences, by scenario and request.
func describe(found []Difference, most int) string {
	var b strings.Builder
	scenario, text := "", ""
	for i, d := range found {
		if i == most {
			fmt.Fprintf(&b, "… and %d more\n", len(found)-most)
			break
		}
		if d.Scenario != scenario {
			scenario, text = d.Scenario, ""
			fmt.Fprintf(&b, "== %s\n", scenario)
		}
		if d.Text != text {
			text = d.Text
			fmt.Fprintf(&b, "  > %s\n", cut(text, 200))
		}
		fmt.Fprintf(&b, "      %s\n", d)
	}
	return b.String()
}

func cut(text string, most int) string {
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// differing counts the requests that differ.
func differing(found []Difference) int {
	seen := map[string]bool{}
	for _, d := range found {
		seen[d.Scenario+"\t"+d.Text] = true
	}
	return len(seen)
}
