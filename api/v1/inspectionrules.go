package v1

import (
	"context"
	"net/http"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// inspectionRules is the resource of inspection rules (Ironic:
// controllers/v1/inspection_rule).
var inspectionRules = newResource(resource[metal.InspectionRule]{
	registry: openapi.InspectionRuleFields, noun: "inspection rule", newer: true, path: "inspection_rules", key: "inspection_rules",
	required: []string{"actions"}, listed: []string{"uuid", "priority", "phase", "description"}, unknown: true,
	marker: func(string) bool { return true },
	uuid:   ruleUUID,
	fields: map[string]property[metal.InspectionRule]{
		"uuid":        uuidProperty(func(r *metal.InspectionRule) *string { return &r.UUID }),
		"description": textProperty("description", 255, func(r *metal.InspectionRule) **string { return &r.Description }),
		"priority":    priorityProperty(),
		"phase":       phaseProperty(),
		"sensitive":   strictFlag("sensitive", func(r *metal.InspectionRule) *bool { return &r.Sensitive }),
		"actions": rulesProperty("actions", metal.RuleActions, func(r *metal.InspectionRule) *metal.JSON {
			return &r.Actions
		}),
		"conditions": rulesProperty("conditions", metal.RuleConditions, func(r *metal.InspectionRule) *metal.JSON {
			return &r.Conditions
		}),
		"created_at": timeProperty(func(r *metal.InspectionRule) *time.Time { return &r.CreatedAt }),
		"updated_at": optionalTimeProperty(func(r *metal.InspectionRule) **time.Time { return &r.UpdatedAt }),
		"links":      linksProperty(ruleUUID, "inspection_rules"),
	},
})

func ruleUUID(r *metal.InspectionRule) string { return r.UUID }

// highestPriority is what a user's rule may have; beyond are those built in.
const highestPriority = 9999

func priorityProperty() property[metal.InspectionRule] {
	p := integerProperty("priority", func(r *metal.InspectionRule) *int64 { return &r.Priority })
	p.set = func(r *metal.InspectionRule, value any) error {
		n, err := wholeNumber(value)
		if err == nil && (n < 0 || n > highestPriority) {
			err = badRequest("Priority must be between 0 and %d for user-defined rules.", highestPriority)
		}
		if err == nil {
			r.Priority = n
		}
		return err
	}
	return p
}

func phaseProperty() property[metal.InspectionRule] {
	p := wordProperty("phase", func(r *metal.InspectionRule) *string { return &r.Phase })
	p.set = func(r *metal.InspectionRule, value any) error {
		if value != metal.MainPhase {
			return badRequest("Invalid phase: %v. Valid phases are: %s", value, metal.MainPhase)
		}
		r.Phase = metal.MainPhase
		return nil
	}
	return p
}

func (s *Service) listInspectionRules(c *call) error {
	l, err := inspectionRules.list(s, c, inspectionRules.path, false)
	if err != nil {
		return err
	}
	q := store.InspectionRuleQuery{Page: l.page, Phase: c.query.text("phase")}
	page, err := s.store.InspectionRules(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return inspectionRules.answerList(c, l, page)
}

// inspectionRule finds the rule that the path names; it has no name.
func (s *Service) inspectionRule(c *call) (metal.InspectionRule, error) {
	uuid, err := c.uuidOf("inspection_rule")
	if err != nil {
		return metal.InspectionRule{}, err
	}
	return s.store.InspectionRule(c.Request().Context(), uuid)
}

func (s *Service) getInspectionRule(c *call) error {
	r, err := s.inspectionRule(c)
	if err != nil {
		return err
	}
	return inspectionRules.answerOne(c, &r)
}

func (s *Service) createInspectionRule(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	r := &metal.InspectionRule{Phase: metal.MainPhase, Conditions: "[]"}
	if err := inspectionRules.read(r, body); err != nil {
		return err
	}
	r.UUID = filledIn(r.UUID)
	secrets, err := sealRule(&metal.InspectionRule{}, r)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertInspectionRule(ctx, r); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	return inspectionRules.created(c, r)
}

func (s *Service) updateInspectionRule(c *call) error {
	r, err := s.inspectionRule(c)
	if err != nil {
		return err
	}
	ops, err := parseFreePatch(c.raw)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.InspectionRule(ctx, r.UUID)
		if err != nil {
			return err
		}
		r = before
		if err := inspectionRules.patch(&r, ops); err != nil {
			return err
		}
		switch {
		case r.UUID != before.UUID:
			return badRequest("Cannot overwrite UUID for an existing inspection rule.")
		case before.Sensitive && !r.Sensitive:
			return badRequest("Inspection rules cannot have the sensitive flag unset.")
		}
		secrets, err := sealRule(&before, &r)
		if err != nil {
			return err
		}
		if err := tx.UpdateInspectionRule(ctx, &r); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	return inspectionRules.answer(c, http.StatusOK, &r)
}

func (s *Service) deleteInspectionRule(c *call) error {
	r, err := s.inspectionRule(c)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DeleteInspectionRule(ctx, r.UUID); err != nil {
			return err
		}
		return tx.DeleteSecrets(ctx, metal.SecretPlace{Owner: metal.InspectionRuleSecrets, UUID: r.UUID})
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
