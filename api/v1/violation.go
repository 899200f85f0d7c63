package v1

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// violation is what one of Ironic's JSON schemas would say of a value, in the
// words of the library that Ironic asks: clients look for them (Ironic:
// common/args._validate_schema; jsonschema/_keywords).
type violation struct {
	of    string // whose schema it is; "": it does not say
	words string
}

func (v *violation) Error() string {
	if v.of == "" {
		return "Schema error: " + v.words
	}
	return "Schema error for " + v.of + ": " + v.words
}

func violates(format string, args ...any) error {
	return &violation{words: fmt.Sprintf(format, args...)}
}

// schemaOf says whose schema a violation is of, and leaves other errors alone.
func schemaOf(what string, err error) error {
	var v *violation
	if errors.As(err, &v) && v.of == "" {
		return &violation{of: what, words: v.words}
	}
	return err
}

// shown is a value as errors show it: as Python writes it, without secrets.
func shown(v any) string { return pytext.Repr(unsecret(v)) }

// unsecret is a value with its secrets replaced.
func unsecret(v any) any {
	var without any
	if err := masked(v).Decode(&without); err != nil {
		return metal.Masked
	}
	return without
}

func wrongType(v any, types ...string) error {
	return violates("%s is not of type '%s'", shown(v), strings.Join(types, "', '"))
}

func tooLong(v any) error { return violates("%s is too long", shown(v)) }

// empty is of a text or a list that needs one character or item.
func empty(v any) error { return violates("%s should be non-empty", shown(v)) }

func noMatch(v any, pattern string) error {
	return violates("%s does not match %s", shown(v), shown(pattern))
}

func notOneOf(v any, words []string) error {
	return violates("%s is not one of %s", shown(v), pytext.Repr(words))
}

func negative(v any) error { return violates("%s is less than the minimum of 0", shown(v)) }

func missing(name string) error { return violates("%s is a required property", shown(name)) }

// noAlternative is of a value that fits none of several schemas; cause is what
// the one that fits best says.
func noAlternative(v any, cause error) error {
	var best *violation
	if !errors.As(cause, &best) {
		return cause
	}
	return violates("%s is not valid under any of the given schemas. Possible root cause: %s", shown(v), best.words)
}

// noBoolean is of a text that means neither true nor false (Ironic: args.boolean).
func noBoolean(name, text string) error {
	return badRequest("Invalid %s: Unrecognized value '%s', acceptable values are: "+
		"'0', '1', 'f', 'false', 'n', 'no', 'off', 'on', 't', 'true', 'y', 'yes'", name, text)
}

// unexpected names the members that an object may not have.
func unexpected(names ...string) error {
	slices.Sort(names)
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = shown(name)
	}
	verb := "was"
	if len(names) > 1 {
		verb = "were"
	}
	return violates("Additional properties are not allowed (%s %s unexpected)", strings.Join(quoted, ", "), verb)
}

// onlyKnown refuses members of an object that are not known.
func onlyKnown(object map[string]any, known func(name string) bool) error {
	var others []string
	for name := range object {
		if !known(name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		return unexpected(others...)
	}
	return nil
}

// among is the test of a name against a few.
func among(names ...string) func(name string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

// checkTrait holds a value to the schema of a trait.
func checkTrait(v any) error {
	text, ok := v.(string)
	switch {
	case !ok:
		return wrongType(v, "string")
	case text == "":
		return empty(v)
	case len(text) > 255:
		return tooLong(v)
	case !metal.IsTrait(text):
		return noAlternative(v, noMatch(v, "^CUSTOM_[A-Z0-9_]+$"))
	}
	return nil
}
