package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// List writes every option with its type, default and meaning, section by
// section, in the form of the file itself.
func List(w io.Writer) error {
	var text strings.Builder
	section := ""
	for _, option := range theCatalogue().options {
		if option.Name == "*" {
			continue
		}
		if option.Section != section {
			section = option.Section
			fmt.Fprintf(&text, "\n[%s]\n", section)
		}
		fmt.Fprintf(&text, "# %s (%s)\n", meaning(option), option.Type)
		fmt.Fprintf(&text, "#%s = %s\n", option.Name, strings.ReplaceAll(option.Default, "\n", "\n    "))
	}
	_, err := io.WriteString(w, strings.TrimPrefix(text.String(), "\n"))
	return err
}

func meaning(option Option) string {
	switch {
	case option.Status == NoMeaning:
		return "no meaning here: " + option.Note
	case option.Status == Lost && !strings.HasPrefix(option.Note, later):
		return "not built in: " + option.Note
	}
	return option.Note
}

// Report is what [Check] finds.
type Report struct {
	Files    []string  `json:"files"`
	Findings []Finding `json:"findings"`
	YouLose  []string  `json:"you_lose"`
}

// Check says what becomes of each option that the sources give, the worst
// first. Its error is not nil where a start would stop.
func Check(from Sources) (Report, error) {
	c, mistakes := readAll(from)
	for _, mistake := range mistakes {
		f := Finding{Verdict: Refused, Reason: mistake.Error()}
		if wrong := new(valueError); errors.As(mistake, &wrong) {
			f = Finding{Verdict: Refused, Section: wrong.section, Option: wrong.option, Where: wrong.where, Reason: wrong.cause.Error()}
		}
		c.judge([]Finding{f})
	}
	slices.SortStableFunc(c.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(verdicts, a.Verdict), slices.Index(verdicts, b.Verdict)),
			comparePlaces(a.Where, b.Where), cmp.Compare(a.Option, b.Option))
	})
	report := Report{Files: c.Files, Findings: c.Findings, YouLose: c.Losses()}
	if n := c.Count(Refused); n > 0 {
		return report, fmt.Errorf("a start would stop at %d of the settings", n)
	}
	return report, nil
}

// comparePlaces orders "file:2" before "file:10".
func comparePlaces(a, b string) int {
	fileA, lineA := splitPlace(a)
	fileB, lineB := splitPlace(b)
	return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(lineA, lineB))
}

func splitPlace(where string) (file string, line int) {
	at := strings.LastIndexByte(where, ':')
	if at < 0 {
		return where, 0
	}
	line, err := strconv.Atoi(where[at+1:])
	if err != nil {
		return where, 0
	}
	return where[:at], line
}

// titles head the parts of a report.
var titles = map[Verdict]string{
	Refused: "refused, so that a start stops",
	Loses:   "lost, since it is not built in",
	Unknown: "unknown, and ignored as in Ironic",
	Acts:    "honoured",
	Nothing: "no meaning here, and not missed",
}

// WriteText writes the report for people; the last line says what is lost.
func (r Report) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, verdict := range verdicts {
		var lines []string
		for _, f := range r.Findings {
			if f.Verdict == verdict {
				lines = append(lines, f.line())
			}
		}
		if len(lines) > 0 {
			fmt.Fprintf(&text, "%s: %d\n%s", titles[verdict], len(lines), strings.Join(lines, ""))
		}
	}
	lose := "nothing"
	if len(r.YouLose) > 0 {
		lose = strings.Join(r.YouLose, "; ")
	}
	fmt.Fprintf(&text, "you lose: %s\n", lose)
	_, err := io.WriteString(w, text.String())
	return err
}

func (f Finding) line() string {
	if f.Option == "" {
		return "  " + strings.ReplaceAll(f.Reason, "\n", "\n  ") + "\n"
	}
	return "  " + f.String() + "\n"
}
