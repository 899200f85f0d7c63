package config

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The reader is our own because oslo.config's INI is a dialect that the INI
// libraries for Go read differently: a line that begins with a blank continues
// the value above even where it looks like an assignment or a comment, a colon
// separates as well as an equals sign, a value is never cut at a "#" or ";", an
// option may be given many times, and names keep their case.

// assignment is one "name = value" of a file.
type assignment struct {
	section, name, value string
	line                 int
}

// maxFile bounds a configuration file.
const maxFile = 8 << 20

// syntaxError names a line that cannot be read. It never quotes the line, which
// may hold a password.
type syntaxError struct {
	line int
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// iniReader holds what is known between two lines.
type iniReader struct {
	found   []assignment
	section string
	open    *assignment // takes continuation lines
}

// parseINI reads a file in oslo.config's dialect.
func parseINI(r io.Reader) ([]assignment, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxFile {
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	var reader iniReader
	for i, line := range strings.Split(anyNewline.Replace(string(raw)), "\n") {
		if !utf8.ValidString(line) {
			return nil, &syntaxError{i + 1, "not UTF-8"}
		}
		if err := reader.take(i+1, strings.TrimRightFunc(line, isBlank)); err != nil {
			return nil, err
		}
	}
	reader.flush()
	return reader.found, nil
}

var anyNewline = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// isBlank is what Python's str.strip takes away.
func isBlank(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }

func (r *iniReader) take(number int, line string) error {
	switch {
	case line == "":
		r.flush()
		return nil
	case line[0] == ' ' || line[0] == '\t':
		if r.open == nil {
			return &syntaxError{number, "a line that begins with a blank continues the value above, and there is none"}
		}
		r.open.value += "\n" + strings.TrimLeftFunc(line, isBlank)
		return nil
	}
	r.flush()
	switch line[0] {
	case '#', ';':
		return nil
	case '[':
		return r.beginSection(number, line)
	}
	return r.beginAssignment(number, line)
}

func (r *iniReader) flush() {
	if r.open != nil {
		r.found = append(r.found, *r.open)
		r.open = nil
	}
}

func (r *iniReader) beginSection(number int, line string) error {
	if !strings.HasSuffix(line, "]") {
		return &syntaxError{number, "a section name must end with ]"}
	}
	if len(line) <= 2 {
		return &syntaxError{number, "the section name is empty"}
	}
	r.section = sectionName(line[1 : len(line)-1])
	return nil
}

func (r *iniReader) beginAssignment(number int, line string) error {
	at := strings.IndexAny(line, "=:")
	if at < 0 {
		return &syntaxError{number, "neither a section, a comment nor an assignment (no = or : found)"}
	}
	name := strings.TrimFunc(line[:at], isBlank)
	if name == "" {
		return &syntaxError{number, "an assignment without a name"}
	}
	if r.section == "" {
		return &syntaxError{number, "an assignment before the first [section]"}
	}
	value := unquote(strings.TrimFunc(line[at+1:], isBlank))
	r.open = &assignment{section: r.section, name: name, value: value, line: number}
	return nil
}

// unquote takes away one pair of quotes around a whole value.
func unquote(value string) string {
	if value == "" || (value[0] != '"' && value[0] != '\'') || value[0] != value[len(value)-1] {
		return value
	}
	if len(value) == 1 {
		return ""
	}
	return value[1 : len(value)-1]
}

// sectionName folds case as oslo.config does: all but DEFAULT are lower case.
func sectionName(name string) string {
	if name == "DEFAULT" {
		return name
	}
	return strings.ToLower(name)
}
