package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// errRemote is the one part of the language that is refused outright.
var errRemote = errors.New("asks another server, which Ferrule does not do; write the rule in the language itself")

// parseText reads a rule. What cannot be understood allows nobody, the whole
// rule or one check of it, and the error says why.
func parseText(rule string) (check, error) {
	if rule == "" {
		return always{}, nil
	}
	var p parser
	for field := range strings.FieldsFuncSeq(rule, isSpace) {
		p.word(field)
	}
	if len(p.stack) != 1 || p.stack[0].check == nil {
		return never{}, errors.Join(p.err,
			fmt.Errorf("%q cannot be understood, so it allows nobody: look for a missing and, or, or parenthesis", rule))
	}
	return p.stack[0].check, p.err
}

// isSpace is what separates words in Python's eyes.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// parseList reads the older form: any of the items, each of them all of its
// items.
func parseList(items [][]string) (check, error) {
	if len(items) == 0 {
		return always{}, nil
	}
	var either anyOf
	var mistakes []error
	for _, item := range items {
		var all allOf
		for _, word := range item {
			c, err := parseCheck(word)
			mistakes = append(mistakes, err)
			all = append(all, c)
		}
		switch len(all) {
		case 0:
		case 1:
			either = append(either, all[0])
		default:
			either = append(either, &all)
		}
	}
	err := errors.Join(mistakes...)
	switch len(either) {
	case 0:
		return never{}, err
	case 1:
		return either[0], err
	}
	return &either, err
}

// parseCheck reads one check, without operators.
func parseCheck(s string) (check, error) {
	switch s {
	case "!":
		return never{}, nil
	case "@":
		return always{}, nil
	}
	kind, match, found := strings.Cut(s, ":")
	if !found {
		return never{}, fmt.Errorf("%q is no check, so it allows nobody: a check is written kind:match", s)
	}
	switch kind {
	case "http", "https":
		return never{}, fmt.Errorf("%s %w", s, errRemote)
	case "rule":
		return &ruleCheck{match}, nil
	case "role":
		return &roleCheck{match, parseTemplate(match)}, nil
	}
	return &genericCheck{kind, match, parseSubject(kind), parseTemplate(match)}, nil
}

// The kinds of token. All but the last three carry a check.
type kind int

const (
	single kind = iota // a check, or an expression in parentheses
	andExpression
	orExpression
	andWord
	orWord
	notWord
	opening
	closing
	quoted
)

type token struct {
	kind  kind
	check check // nil: none
}

// parser reduces as soon as it can (oslo.policy: ParseState). Which expressions
// it understands, and how, is what rules were written against.
type parser struct {
	stack []token
	err   error
}

// word splits a word into its tokens: parentheses at its ends stand for
// themselves, those inside belong to %(name)s.
func (p *parser) word(s string) {
	clean := strings.TrimLeft(s, "(")
	for range len(s) - len(clean) {
		p.shift(token{kind: opening})
	}
	if clean == "" {
		return
	}
	s = clean
	clean = strings.TrimRight(s, ")")
	switch strings.ToLower(clean) {
	case "":
	case "and":
		p.shift(token{kind: andWord})
	case "or":
		p.shift(token{kind: orWord})
	case "not":
		p.shift(token{kind: notWord})
	default:
		first, last := s[0], s[len(s)-1]
		if len(s) >= 2 && first == last && (first == '"' || first == '\'') {
			p.shift(token{kind: quoted})
			break
		}
		c, err := parseCheck(clean)
		p.err = errors.Join(p.err, err)
		p.shift(token{single, c})
	}
	for range len(s) - len(clean) {
		p.shift(token{kind: closing})
	}
}

func (p *parser) shift(t token) {
	p.stack = append(p.stack, t)
	for p.reduce() {
	}
}

// reduce applies the first rule that fits the end of the stack.
func (p *parser) reduce() bool {
	n := len(p.stack)
	if n >= 3 {
		a, b, c := p.stack[n-3], p.stack[n-2], p.stack[n-1]
		if t, ok := combine(a, b, c); ok {
			p.stack = append(p.stack[:n-3], t)
			return true
		}
	}
	if n >= 2 && p.stack[n-2].kind == notWord && p.stack[n-1].kind == single {
		p.stack = append(p.stack[:n-2], token{single, not{p.stack[n-1].check}})
		return true
	}
	return false
}

// combine reduces three tokens to one.
func combine(a, b, c token) (token, bool) {
	if a.kind == opening && b.check != nil && c.kind == closing {
		return token{single, b.check}, true
	}
	if c.kind != single {
		return token{}, false
	}
	switch {
	case a.kind == single && b.kind == andWord:
		return token{andExpression, &allOf{a.check, c.check}}, true
	case a.kind == andExpression && b.kind == andWord:
		all := a.check.(*allOf)
		*all = append(*all, c.check)
		return a, true
	case a.kind == orExpression && b.kind == andWord:
		bindLast(a.check.(*anyOf), c.check)
		return a, true
	case (a.kind == single || a.kind == andExpression) && b.kind == orWord:
		return token{orExpression, &anyOf{a.check, c.check}}, true
	case a.kind == orExpression && b.kind == orWord:
		either := a.check.(*anyOf)
		*either = append(*either, c.check)
		return a, true
	}
	return token{}, false
}

// bindLast turns "a or b" followed by "and c" into "a or (b and c)".
func bindLast(either *anyOf, c check) {
	last := len(*either) - 1
	if all, ok := (*either)[last].(*allOf); ok {
		*all = append(*all, c)
		return
	}
	(*either)[last] = &allOf{(*either)[last], c}
}
