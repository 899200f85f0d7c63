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

func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Place, d.Want, d.Got)
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
	return shortened(a.Body)
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
		add(place, shortened(want), shortened(got))
	}
}

func compareObjects(place string, want, got map[string]any, add func(place, w, g string)) {
	for _, k := range sortedKeys(want) {
		if g, ok := got[k]; ok {
			compareJSON(place+"."+k, want[k], g, add)
		} else {
			add(place+"."+k, shortened(want[k]), absent)
		}
	}
	for _, k := range sortedKeys(got) {
		if _, ok := want[k]; !ok {
			add(place+"."+k, absent, shortened(got[k]))
		}
	}
}

func shortened(v any) string {
	text := compactJSON(v)
	if len(text) > 160 {
		return text[:157] + "..."
	}
	return text
}
