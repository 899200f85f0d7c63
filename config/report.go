package config

import (
	"cmp"
	"fmt"
	"io"
	"slices"
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
	if option.Status == NoMeaning {
		return "no meaning here: " + option.Note
	}
	return option.Note
}

// finding is one line of what [Check] says.
type finding struct {
	line int
	text string
}

// Check says of each option in a file whether it is honoured, has no meaning
// here and why, or is unknown. Its error counts what a start would refuse.
func Check(r io.Reader, name string, w io.Writer) error {
	assignments, err := parseINI(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var honoured, idle, unknown []finding
	var l loader
	for _, a := range assignments {
		option, ok := theCatalogue().find(a.section, a.name)
		label := fmt.Sprintf("[%s] %s%s", a.section, a.name, renamed(a, option))
		switch {
		case !ok:
			unknown = append(unknown, finding{a.line, unknownOption(a.section, a.name)})
			continue
		case option.Status == NoMeaning:
			idle = append(idle, finding{a.line, label + ": " + option.Note})
		default:
			honoured = append(honoured, finding{a.line, label})
		}
		l.found = append(l.found, given{option, a.value, fmt.Sprintf("%s:%d", name, a.line)})
	}
	_, wrong := l.finish()
	for _, part := range []struct {
		title    string
		findings []finding
	}{{"honoured", honoured}, {"no meaning here", idle}, {"unknown", unknown}} {
		if err := writeFindings(w, part.title, name, part.findings); err != nil {
			return err
		}
	}
	switch {
	case wrong != nil && len(unknown) > 0:
		return fmt.Errorf("%d unknown options, and wrong values:\n%w", len(unknown), wrong)
	case wrong != nil:
		return fmt.Errorf("wrong values:\n%w", wrong)
	case len(unknown) > 0:
		return fmt.Errorf("%s: %d unknown options", name, len(unknown))
	}
	return nil
}

// renamed says an option's present name where the file has an older one.
func renamed(a assignment, option Option) string {
	if option.Name == "" || option.Section == a.section && option.Name == strings.ReplaceAll(a.name, "-", "_") {
		return ""
	}
	return fmt.Sprintf(" (now [%s] %s)", option.Section, option.Name)
}

func writeFindings(w io.Writer, title, name string, findings []finding) error {
	slices.SortStableFunc(findings, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	if _, err := fmt.Fprintf(w, "%s: %d\n", title, len(findings)); err != nil {
		return err
	}
	for _, f := range findings {
		if _, err := fmt.Fprintf(w, "  %s:%d: %s\n", name, f.line, f.text); err != nil {
			return err
		}
	}
	return nil
}
