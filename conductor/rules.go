package conductor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"ferrule/conductor/rules"
	"ferrule/conductor/runner"
	"ferrule/metal"
	"ferrule/store"
)

// ruleWorld gives the runner the inspection rules, for a node that is inspected.
func (c *Conductor) ruleWorld(ctx context.Context, tx *store.Tx, w *runner.World) error {
	if !w.Node.ProvisionState.Is(metal.Inspecting, metal.InspectWait) {
		return nil
	}
	main := metal.MainPhase
	list, err := tx.InspectionRules(ctx, store.InspectionRuleQuery{Phase: &main})
	if err != nil {
		return fmt.Errorf("read the inspection rules: %w", err)
	}
	for i := range list {
		for _, part := range []*metal.JSON{&list[i].Actions, &list[i].Conditions} {
			if err := c.openRefs(ctx, tx, list[i].UUID, part); err != nil {
				return fmt.Errorf("read the inspection rule %s: %w", list[i].UUID, err)
			}
		}
	}
	w.Rules = append(list, c.builtIn...)
	w.Taken = func(what, value string) bool { return c.taken(ctx, tx, what, value, w.Node.UUID) }
	return nil
}

// openRefs puts values in the place of the refs of an inspection rule's own
// secrets, for as long as it takes to run it.
func (c *Conductor) openRefs(ctx context.Context, tx *store.Tx, ruleUUID string, part *metal.JSON) error {
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
		sealed, err := tx.SealedSecret(ctx, ref)
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

// taken reports whether another node or port has the value. Where that cannot be
// found out, the write of the row will tell.
func (c *Conductor) taken(ctx context.Context, tx *store.Tx, what, value, nodeUUID string) bool {
	switch what {
	case "node name":
		n, err := tx.Node(ctx, value)
		return err == nil && n.UUID != nodeUUID
	case "port name":
		_, err := tx.Port(ctx, value)
		return err == nil
	case "port address":
		_, err := tx.PortByAddress(ctx, value)
		return err == nil
	}
	return false
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
