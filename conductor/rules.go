package conductor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"ferrule/conductor/rules"
	"ferrule/metal"
	"ferrule/store"
)

// inspectionRules are those of users and those of the configuration, with their
// secrets in clear.
func (c *Conductor) inspectionRules(ctx context.Context) ([]metal.InspectionRule, error) {
	main := metal.MainPhase
	list, err := c.Store.InspectionRules(ctx, store.InspectionRuleQuery{Phase: &main})
	if err != nil {
		return nil, fmt.Errorf("read the inspection rules: %w", err)
	}
	for i := range list {
		for _, part := range []*metal.JSON{&list[i].Actions, &list[i].Conditions} {
			if err := c.openRefs(ctx, list[i].UUID, part); err != nil {
				return nil, fmt.Errorf("read the inspection rule %s: %w", list[i].UUID, err)
			}
		}
	}
	return append(list, c.builtIn...), nil
}

// openRefs puts values in the place of the refs of an inspection rule's own
// secrets, for as long as it takes to run it.
func (c *Conductor) openRefs(ctx context.Context, ruleUUID string, part *metal.JSON) error {
	if !strings.Contains(string(*part), "://") {
		return nil
	}
	var ops []any
	if err := part.Decode(&ops); err != nil {
		return err
	}
	own := metal.SecretPlace{Owner: metal.InspectionRuleSecrets, UUID: ruleUUID}
	opened, err := metal.ReplaceRefs(ops, func(ref string) (any, error) {
		if !own.Holds(ref) {
			return nil, metal.Errorf(metal.Invalid, "The rule names a secret of something else. The database was changed from outside; write the rule again.")
		}
		sealed, err := c.Store.SealedSecret(ctx, ref)
		if err != nil {
			return nil, err
		}
		plain, err := c.Sealer.Open(sealed.Name(""), sealed.Sealed)
		return metal.SecretValue(ref, string(plain)), err
	})
	if err == nil {
		*part = metal.ToJSON(opened)
	}
	return err
}

// taken reports whether another node or port has the value.
func (c *Conductor) taken(ctx context.Context, q question, nodeUUID string) (bool, error) {
	var err error
	other := true
	switch q.what {
	case "node name":
		var n metal.Node
		n, err = c.Store.Node(ctx, q.value)
		other = n.UUID != nodeUUID
	case "port name":
		_, err = c.Store.Port(ctx, q.value)
	case "port address":
		_, err = c.Store.PortByAddress(ctx, q.value)
	default:
		return false, nil
	}
	if metal.ReasonOf(err) == metal.NotFound {
		return false, nil
	}
	return err == nil && other, err
}

var noteLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warning": slog.LevelWarn, "error": slog.LevelError, "critical": slog.LevelError,
}

// logNotes writes what rules have to say.
func (c *Conductor) logNotes(ctx context.Context, nodeUUID string, notes []rules.Note) {
	for _, n := range notes {
		c.Logger.Log(ctx, noteLevels[n.Level], "inspection rules", "node", nodeUUID, "note", n.Text)
	}
}
