package policy

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ferrule/metal/pytext"
)

// subject is the left side of a generic check: a literal of Python, whose text
// is compared, or the path of a credential.
type subject struct {
	literal string
	path    []string // nil: a literal
	err     error    // neither: Python cannot read it
}

var (
	word      = `[\p{L}_][\p{L}\p{N}_]*`
	pathShape = regexp.MustCompile(`^` + word + `(?:[.-]` + word + `)*$`)
	// Python's keywords cannot stand in an expression by themselves.
	keywords = regexp.MustCompile(`(?:^|[.-])(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|` +
		`finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)(?:$|[.-])`)
	constantAttribute = regexp.MustCompile(`\.(?:None|True|False)(?:$|[.-])`)
	integerShape      = regexp.MustCompile(`^[+-]*(?:0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)$`)
	floatShape        = regexp.MustCompile(`^[+-]*(?:\d(?:_?\d)*\.(?:\d(?:_?\d)*)?|\.\d(?:_?\d)*|\d(?:_?\d)*)(?:[eE][+-]?\d(?:_?\d)*)?$`)
)

func parseSubject(s string) subject {
	trimmed := strings.TrimLeft(s, " \t")
	switch trimmed {
	case "None", "True", "False":
		return subject{literal: trimmed}
	}
	if content, ok := unquote(trimmed); ok {
		return subject{literal: content}
	}
	if number, ok := number(trimmed); ok {
		return subject{literal: number}
	}
	// Python reads names with dots and hyphens as expressions that are no
	// literal, and then the check takes the very same text for a path.
	if pathShape.MatchString(trimmed) && !keywords.MatchString(trimmed) && !constantAttribute.MatchString(trimmed) {
		return subject{path: strings.Split(s, ".")}
	}
	return subject{err: fmt.Errorf("%q on the left of a colon is neither the name of a credential nor a literal", s)}
}

// unquote is the content of a quoted text without escapes that mean anything.
func unquote(s string) (content string, ok bool) {
	s = strings.TrimRight(s, " \t")
	if len(s) < 2 {
		return "", false
	}
	quote := s[0]
	if quote != '\'' && quote != '"' || s[len(s)-1] != quote {
		return "", false
	}
	content = s[1 : len(s)-1]
	if strings.ContainsAny(content, "\\\n\r\x00") || strings.IndexByte(content, quote) >= 0 {
		return "", false
	}
	return content, true
}

// number is a literal number as Python writes it.
func number(s string) (string, bool) {
	s = strings.TrimRight(s, " \t")
	plain := strings.ReplaceAll(strings.TrimLeft(s, "+-"), "_", "")
	negative := strings.Count(s[:len(s)-len(strings.TrimLeft(s, "+-"))], "-")%2 == 1
	switch {
	case integerShape.MatchString(s):
		n, err := strconv.ParseInt(plain, 0, 64)
		if err != nil {
			return "", false
		}
		if negative {
			n = -n
		}
		return strconv.FormatInt(n, 10), true
	case floatShape.MatchString(s) && strings.ContainsAny(plain, ".eE"):
		f, err := strconv.ParseFloat(plain, 64)
		if err != nil {
			return "", false
		}
		if negative {
			f = -f
		}
		return pytext.Str(f), true
	}
	return "", false
}
