package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// Difference is one place where two answers to a step differ.
type Difference struct {
	Scenario string // Scenario.Key
	Text     string // the step's
	IDs      []string
	Place    string // "status", "header.NAME" or "body.PATH"
	Want     string
	Got      string
}

// String shows both from a little before they part.
func (d Difference) String() string {
	same := 0
	for same < min(len(d.Want), len(d.Got)) && d.Want[same] == d.Got[same] {
		same++
	}
	const before = 100
	from := max(0, same-before)
	return fmt.Sprintf("%s: want %s, got %s", d.Place, excerpt(d.Want, from), excerpt(d.Got, from))
}

func excerpt(text string, from int) string {
	if from > 0 {
		return "…" + cut(text[from:], 160)
	}
	return cut(text, 160)
}

const absent = "(absent)"

// compare lists where got departs from want.
func compare(want, got Answer) []Difference {
	var all []Difference
	add := func(place, w, g string) {
		if w != g {
			all = append(all, Difference{Text: want.Text, Place: place, Want: w, Got: g})
		}
	}
	add("status", fmt.Sprint(want.Status), fmt.Sprint(got.Status))
	for _, name := range headerNames(want.Header, got.Header) {
		add("header."+name, headerValue(want.Header, name), headerValue(got.Header, name))
	}
	if want.NoBody || got.NoBody || want.Status != got.Status {
		add("body", bodyText(want), bodyText(got))
		return all
	}
	compareJSON("body", want.Body, got.Body, add)
	return all
}

func headerNames(lists ...[]string) []string {
	var names []string
	for _, list := range lists {
		for _, line := range list {
			name, _, _ := strings.Cut(line, ": ")
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func headerValue(lines []string, name string) string {
	for _, line := range lines {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return value
		}
	}
	return "(as usual)"
}

func bodyText(a Answer) string {
	if a.NoBody {
		return absent
	}
	return compactJSON(a.Body)
}

func compareJSON(place string, want, got any, add func(place, w, g string)) {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			compareObjects(place, w, g, add)
			return
		}
	case []any:
		if g, ok := got.([]any); ok && len(g) == len(w) {
			for i := range w {
				compareJSON(fmt.Sprintf("%s.%d", place, i), w[i], g[i], add)
			}
			return
		}
	}
	if compactJSON(want) != compactJSON(got) {
		add(place, compactJSON(want), compactJSON(got))
	}
}

func compareObjects(place string, want, got map[string]any, add func(place, w, g string)) {
	for _, k := range sortedKeys(want) {
		if g, ok := got[k]; ok {
			compareJSON(place+"."+k, want[k], g, add)
		} else {
			add(place+"."+k, compactJSON(want[k]), absent)
		}
	}
	for _, k := range sortedKeys(got) {
		if _, ok := want[k]; !ok {
			add(place+"."+k, absent, compactJSON(got[k]))
		}
	}
}
