package policy

import (
	"fmt"
	"strings"

	"ferrule/metal/pytext"
)

// template is the right side of a check, which Python fills in with
// text % target. It is read once; a mistake in it comes to light when it is
// filled in as far as that.
type template struct {
	pieces []piece
	err    error // after the last piece
}

// piece is some text, or the value of a key of the target.
type piece struct {
	text  string
	isKey bool
	repr  bool // as repr() writes it, %(key)r
}

func parseTemplate(s string) template {
	var t template
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			t.pieces = append(t.pieces, piece{text: plain.String()})
			plain.Reset()
		}
	}
	for s != "" {
		before, after, found := strings.Cut(s, "%")
		plain.WriteString(before)
		if !found {
			break
		}
		if rest, ok := strings.CutPrefix(after, "%"); ok {
			plain.WriteByte('%')
			s = rest
			continue
		}
		flush()
		p, rest, err := parseKey(after)
		if p.isKey {
			t.pieces = append(t.pieces, p)
		}
		if err != nil {
			t.err = err
			return t
		}
		s = rest
	}
	flush()
	return t
}

// parseKey reads "(key)s" after a percent sign. A key that was read is given
// even where what follows is wrong: a target without it decides first.
func parseKey(s string) (p piece, rest string, err error) {
	if !strings.HasPrefix(s, "(") {
		return p, "", fmt.Errorf("%%%s: a percent sign begins %%(name)s; write %%%% for the sign itself", s)
	}
	depth, end := 0, -1
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	if end < 0 {
		return p, "", fmt.Errorf("%%%s: the name is not closed by a parenthesis", s)
	}
	p = piece{text: s[1:end], isKey: true}
	switch rest = s[end+1:]; {
	case strings.HasPrefix(rest, "s"):
	case strings.HasPrefix(rest, "r"):
		p.repr = true
	default:
		return p, "", fmt.Errorf("%%%s: the name must be followed by an s", s)
	}
	return p, rest[1:], nil
}

// fill is the text for the target; found is false where that lacks a key.
func (t *template) fill(e *evaluation) (filled string, found bool, err error) {
	if len(t.pieces) == 1 && t.err == nil {
		return t.pieces[0].fill(e)
	}
	var b strings.Builder
	for i := range t.pieces {
		part, found, err := t.pieces[i].fill(e)
		if err != nil || !found {
			return "", found, err
		}
		b.WriteString(part)
	}
	return b.String(), true, t.err
}

func (p *piece) fill(e *evaluation) (filled string, found bool, err error) {
	if !p.isKey {
		return p.text, true, nil
	}
	v, found := e.target[p.text]
	if !found {
		v, found = e.beside[p.text]
	}
	if !found {
		return "", false, nil
	}
	if p.repr {
		return pytext.Repr(v), true, nil
	}
	return pytext.Str(v), true, nil
}
