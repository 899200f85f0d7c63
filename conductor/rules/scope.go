package rules

import (
	"fmt"
	"maps"
	"slices"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// scope is what a text in braces is looked up in.
type scope struct {
	*run
	item   any // the turn's, in a loop
	looped bool
}

// filledLimit is how many bytes the rules may put into texts. An attribute that a
// loop fills in with itself, twice, would take all memory, and again whenever the
// process is back.
const filledLimit = 16 << 20

// arguments are an operation's by name, filled in: those that formats names,
// and in a loop all of them (Ironic: Base._process_args).
func (s *scope) arguments(op string, known metal.RuleOp, given any, formats []string) (map[string]any, error) {
	args := map[string]any{}
	switch given := given.(type) {
	case map[string]any:
		args = maps.Clone(given)
	case []any:
		names := append(slices.Clone(known.Required), known.Optional...)
		for i, value := range given {
			if i < len(names) {
				args[names[i]] = value
			}
		}
	}
	for _, name := range known.Required {
		if _, ok := args[name]; !ok {
			return nil, fmt.Errorf("Not enough arguments provided. Missing: %s", name)
		}
	}
	for name, value := range args {
		if s.looped || slices.Contains(formats, name) {
			args[name] = s.fillIn(value, op)
		}
	}
	if *s.filled > filledLimit {
		return nil, executionFailed("the texts of the inspection rules became longer than %d MiB when they were filled in", filledLimit>>20)
	}
	return args, nil
}

// fillIn fills in a value and what is inside (Ironic: interpolate_variables). In
// a loop it goes over texts twice: an item may hold braces itself.
func (s *scope) fillIn(value any, op string) any {
	if s.looped {
		value = s.fillText(value, op)
	}
	switch v := value.(type) {
	case string:
		return s.fillText(v, op)
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, item := range v {
			filled[pytext.Str(s.fillText(key, op))] = s.fillIn(item, op)
		}
		return filled
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			if text, ok := item.(string); ok {
				filled[i] = s.fillText(text, op)
			} else {
				filled[i] = s.fillIn(item, op)
			}
		}
		return filled
	}
	return value
}

// fillText fills in one text. What cannot be found leaves it as it is, and is
// nothing for is-empty.
func (s *scope) fillText(value any, op string) any {
	text, ok := value.(string)
	if !ok {
		return value
	}
	filled, err := s.format(text)
	if err == nil {
		return filled
	}
	if op == "is-empty" && isMissing(err) {
		return nil
	}
	what := fmt.Sprintf("the text %q is not filled in: %v", text, err)
	if s.rule.Sensitive {
		what = "a text is not filled in" // of a sensitive rule nobody reads any
	}
	s.note("warning", fmt.Sprintf("inspection rule %s: %s", s.rule.UUID, what))
	return value
}
