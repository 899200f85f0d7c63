package rules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"

	"ferrule/metal/pytext"
)

// regexLimit is how long a match may take: a pattern can be such that it would
// take years, and a match cannot be cut short by a context.
const regexLimit = 250 * time.Millisecond

func matches(args map[string]any) (bool, error) {
	pattern, err := pattern(args)
	if err != nil {
		return false, err
	}
	if pattern == "" {
		return false, errors.New("string index out of range")
	}
	if !strings.HasSuffix(pattern, "$") {
		pattern += "$"
	}
	at, err := search(pattern, args["value"])
	return at == 0, err
}

func contains(args map[string]any) (bool, error) {
	pattern, err := pattern(args)
	if err != nil {
		return false, err
	}
	at, err := search(pattern, args["value"])
	return at >= 0, err
}

func pattern(args map[string]any) (string, error) {
	text, ok := args["regex"].(string)
	if !ok {
		return "", errors.New("first argument must be string or compiled pattern")
	}
	if _, err := compile(text); err != nil {
		return "", executionFailed("invalid regular expression: %v", err)
	}
	return text, nil
}

// search is where the pattern first matches; -1 is nowhere.
func search(pattern string, value any) (int, error) {
	re, err := compile(pattern)
	if err != nil {
		return -1, executionFailed("invalid regular expression: %v", err)
	}
	re.MatchTimeout = regexLimit
	found, err := re.FindStringMatch(pytext.Str(value))
	if err != nil {
		return -1, executionFailed("a regular expression took longer than %v", regexLimit)
	}
	if found == nil {
		return -1, nil
	}
	return found.RuneIndex, nil
}

// compile reads an expression of Python, whose look-around and back references
// the standard library has not. What Python writes in another way is put so.
func compile(pattern string) (*regexp2.Regexp, error) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		rest := pattern[i:]
		switch {
		case strings.HasPrefix(rest, `\Z`):
			b.WriteString(`\z`)
			i++
		case rest[0] == '\\' && len(rest) > 1:
			b.WriteString(rest[:2])
			i++
		case strings.HasPrefix(rest, "(?P<"):
			b.WriteString("(?<")
			i += len("(?P<") - 1
		case strings.HasPrefix(rest, "(?P="):
			name, _, closed := strings.Cut(rest[len("(?P="):], ")")
			if !closed {
				return nil, fmt.Errorf("missing ), unterminated name in %q", pattern)
			}
			b.WriteString(`\k<` + name + ">")
			i += len("(?P=") + len(name)
		default:
			b.WriteByte(rest[0])
		}
	}
	return regexp2.Compile(b.String())
}
