package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

// Subject is what rules look at and change. Values are those of JSON, with
// json.Number.
type Subject struct {
	Node       *metal.Node
	Ports      []*metal.Port
	Inventory  map[string]any
	PluginData map[string]any
	Changed    map[string]bool // UUIDs of the ports that a rule changed
}

// Settings are what rules depend on beside their subject.
type Settings struct {
	MaskSecrets string // always, sensitive or never ([inspection_rules]mask_secrets)
	Catalogue   *hardware.Catalogue
	// Taken reports whether another node or port has the value: of "node name",
	// "port name" or "port address".
	Taken func(what, value string) bool
}

// Note is a line for the log.
type Note struct {
	Level string // debug, info, warning, error or critical
	Text  string
}

// Apply holds all rules against the subject, those of the highest priority
// first, and carries out the actions of each whose conditions hold. The first
// failure ends it; what was done until then stays done, as in Ironic. The end of
// ctx is a failure.
func Apply(ctx context.Context, s *Subject, rules []metal.InspectionRule, settings Settings) ([]Note, error) {
	rules = slices.Clone(rules)
	slices.SortStableFunc(rules, func(a, b metal.InspectionRule) int { return cmp.Compare(b.Priority, a.Priority) })
	if s.Changed == nil {
		s.Changed = map[string]bool{}
	}
	var notes []Note
	var filled int
	for i := range rules {
		r := &run{Subject: s, Settings: settings, ctx: ctx, rule: &rules[i], notes: &notes, filled: &filled}
		err := r.apply()
		var told *failure
		switch {
		case err == nil:
		case errors.As(err, &told):
			return notes, err
		default:
			return notes, fmt.Errorf("Failed to apply rule %s to node %s: %w", rules[i].UUID, s.Node.UUID, err)
		}
	}
	return notes, nil
}

// run is one rule on its way.
type run struct {
	*Subject
	Settings
	ctx    context.Context //nolint:containedctx // of this one call of Apply
	rule   *metal.InspectionRule
	notes  *[]Note
	filled *int // bytes put into the texts of all rules so far
}

// operation is one action or condition.
type operation struct {
	Op       string `json:"op"`
	Args     any    `json:"args"`
	Loop     any    `json:"loop"`
	Multiple string `json:"multiple"`
}

func (r *run) apply() error {
	var conditions, actions []operation
	if err := r.rule.Conditions.Decode(&conditions); err != nil {
		return fmt.Errorf("read the conditions: %w", err)
	}
	if err := r.rule.Actions.Decode(&actions); err != nil {
		return fmt.Errorf("read the actions: %w", err)
	}
	for i := range conditions {
		holds, err := r.check(&conditions[i])
		if err != nil || !holds {
			return err
		}
	}
	r.note("info", fmt.Sprintf("applying the actions of inspection rule %s to node %s", r.rule.UUID, r.Node.UUID))
	for i := range actions {
		if err := r.act(&actions[i]); err != nil {
			return err
		}
	}
	return nil
}

// act carries out one action, for each item of its loop. A loop over an object
// has that object as its one item.
func (r *run) act(o *operation) error {
	known, ok := metal.RuleActions[o.Op]
	if !ok {
		return fmt.Errorf("Unsupported action: '%s'. Supported actions are: fail, log, set-attribute, extend-attribute, del-attribute, "+
			"set-capability, unset-capability, add-trait, remove-trait, set-plugin-data, extend-plugin-data, unset-plugin-data, "+
			"set-port-attribute, extend-port-attribute, del-port-attribute, api-call.", o.Op)
	}
	for _, in := range r.scopes(o) {
		args, err := in.arguments(o.Op, known, o.Args, actionFormats[o.Op])
		if err == nil {
			err = r.inTime()
		}
		if err == nil {
			err = actions[o.Op](r, args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// inTime fails when the time for all rules together is over: a loop may ask for
// thousands of matches, each in time.
func (r *run) inTime() error {
	if r.ctx.Err() != nil {
		return executionFailed("the inspection rules took longer than they may")
	}
	return nil
}

// scopes are what the arguments are filled in with, once for each turn.
func (r *run) scopes(o *operation) []*scope {
	switch loop := o.Loop.(type) {
	case []any:
		if len(loop) == 0 {
			break
		}
		scopes := make([]*scope, len(loop))
		for i, item := range loop {
			scopes[i] = &scope{run: r, item: item, looped: true}
		}
		return scopes
	case map[string]any:
		if len(loop) > 0 {
			return []*scope{{run: r, item: loop, looped: true}}
		}
	}
	return []*scope{{run: r}}
}

// masks reports whether the rule sees asterisks in place of credentials.
func (r *run) masks() bool {
	return r.MaskSecrets == "always" || r.MaskSecrets == "sensitive" && !r.rule.Sensitive
}

func (r *run) note(level, text string) {
	*r.notes = append(*r.notes, Note{Level: level, Text: text})
}

// failure is an error whose text is for the user as it is (Ironic: an
// IronicException); any other is told as what kept a rule from being applied.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

func executionFailed(format string, args ...any) error {
	return &failure{fmt.Sprintf(format, args...)}
}

func conditionFailed(format string, args ...any) error {
	return &failure{"Inspection rule condition check failed. Reason: " + fmt.Sprintf(format, args...)}
}

func actionFailed(format string, args ...any) error {
	return &failure{"Inspection rule action execution failed. Reason: " + fmt.Sprintf(format, args...)}
}

// inverted takes the one exclamation mark off an operator.
func inverted(op string) (plain string, not bool, err error) {
	op = strings.TrimSpace(op)
	if strings.Count(op, "!") > 1 {
		return "", false, errors.New("Multiple exclamation marks are not allowed. To apply the invert of an operation, " +
			"simply add an exclamation mark (with an optional space) before the operator, e.g. eq - !eq.")
	}
	plain, not = strings.CutPrefix(op, "!")
	return strings.TrimSpace(plain), not, nil
}
