package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrule/metal/pytext"
)

// specification is a format specification of Python.
type specification struct {
	fill, align, sign    string
	alternate            bool
	width, precision     int // precision -1: none
	grouping, conversion string
}

var specificationShape = regexp.MustCompile(`^(?:(.)?([<>=^]))?([-+ ])?(#)?(0)?(\d{1,4})?([,_])?(?:\.(\d{1,3}))?([bdeEfFgGosxX%])?$`)

// specified is a value as a format specification wants it. Of Python's it knows
// what texts, integers and decimals are usually given.
func specified(value any, text string) (string, error) {
	m := specificationShape.FindStringSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("Invalid format specifier %q", text)
	}
	s := specification{fill: m[1], align: m[2], sign: m[3], alternate: m[4] != "", grouping: m[7], conversion: m[9], precision: -1}
	if m[5] != "" && s.fill == "" {
		s.fill = "0"
	}
	s.width, _ = strconv.Atoi(m[6])
	if m[8] != "" {
		s.precision, _ = strconv.Atoi(m[8])
	}
	zero := m[5] != "" && s.align == ""
	switch v := value.(type) {
	case string:
		return s.text(v, zero)
	case bool:
		return s.number(json.Number(map[bool]string{true: "1", false: "0"}[v]), zero)
	case json.Number:
		return s.number(v, zero)
	}
	return "", fmt.Errorf("unsupported format string passed to %s.__format__", typeName(value))
}

func (s *specification) text(v string, zero bool) (string, error) {
	if s.conversion != "" && s.conversion != "s" || s.sign != "" || s.alternate || s.grouping != "" || s.align == "=" {
		return "", errors.New("that is no format of a text")
	}
	if runes := []rune(v); s.precision >= 0 && s.precision < len(runes) {
		v = string(runes[:s.precision])
	}
	if s.align == "" || zero {
		s.align = "<"
	}
	return s.pad("", v), nil
}

func (s *specification) number(v json.Number, zero bool) (string, error) {
	if zero {
		if s.grouping != "" {
			return "", errors.New("zeros before a grouped number are not known")
		}
		s.align = "="
	}
	if s.align == "" {
		s.align = ">"
	}
	var digits string
	var err error
	if whole, ok := new(big.Int).SetString(string(v), 10); ok && strings.Contains("bdoxX", s.conversion) {
		digits, err = s.whole(whole)
	} else {
		digits, err = s.decimal(v)
	}
	if err != nil {
		return "", err
	}
	sign, digits := "", digits
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	} else if s.sign != "-" {
		sign = s.sign
	}
	return s.pad(sign, digits), nil
}

func (s *specification) whole(n *big.Int) (string, error) {
	if s.precision >= 0 || s.alternate || s.grouping != "" && (s.conversion == "" || s.conversion != "d") && s.conversion != "" {
		return "", errors.New("that is no format of an integer")
	}
	bases := map[string]int{"": 10, "d": 10, "b": 2, "o": 8, "x": 16, "X": 16}
	digits := n.Text(bases[s.conversion])
	if s.conversion == "X" {
		digits = strings.ToUpper(digits)
	}
	return s.group(digits), nil
}

func (s *specification) decimal(v json.Number) (string, error) {
	f, err := v.Float64()
	if err != nil || s.alternate || s.grouping != "" || !strings.Contains("eEfF%", s.conversion) {
		return "", errors.New("that is no format of a decimal")
	}
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	switch s.conversion {
	case "":
		if s.precision >= 0 {
			return "", errors.New("a precision wants a conversion")
		}
		return pytext.Str(v), nil
	case "%":
		return strconv.FormatFloat(100*f, 'f', precision, 64) + "%", nil
	}
	letter := s.conversion[0]
	if letter == 'F' {
		letter = 'f'
	}
	return strconv.FormatFloat(f, letter, precision, 64), nil
}

// group sets a separator before each three digits.
func (s *specification) group(digits string) string {
	if s.grouping == "" {
		return digits
	}
	sign, digits := "", digits
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + s.grouping + digits[at:]
	}
	return sign + digits
}

func (s *specification) pad(sign, digits string) string {
	fill := s.fill
	if fill == "" {
		fill = " "
	}
	missing := s.width - utf8.RuneCountInString(sign+digits)
	if missing <= 0 {
		return sign + digits
	}
	switch s.align {
	case "<":
		return sign + digits + strings.Repeat(fill, missing)
	case "^":
		return strings.Repeat(fill, missing/2) + sign + digits + strings.Repeat(fill, missing-missing/2)
	case "=":
		return sign + strings.Repeat(fill, missing) + digits
	}
	return strings.Repeat(fill, missing) + sign + digits
}
