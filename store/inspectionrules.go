package store

import (
	"context"

	"ferrule/metal"
)

var inspectionRules = newInspectionRules()

func newInspectionRules() *records[metal.InspectionRule] {
	t := newTable("inspection_rules", func(r *metal.InspectionRule) []field {
		return []field{
			fixed("id", &r.ID),
			fixed("uuid", &r.UUID),
			col("description", optText{&r.Description}),
			col("priority", &r.Priority),
			col("phase", &r.Phase),
			col("sensitive", &r.Sensitive),
			col("actions", (*string)(&r.Actions)),
			col("conditions", (*string)(&r.Conditions)),
			fixed("created_at", instant{&r.CreatedAt}),
			col("updated_at", optTime{&r.UpdatedAt}),
			fixed("version", &r.Version),
		}
	})
	return &records[metal.InspectionRule]{
		table: t, noun: "Inspection rule",
		marks: func(r *metal.InspectionRule) marks {
			return marks{&r.ID, &r.UUID, &r.CreatedAt, &r.UpdatedAt, &r.Version, nil}
		},
		unique: func(r *metal.InspectionRule) []unique {
			return []unique{taken("inspection_rules", "uuid", r.UUID, r.ID, "An inspection rule with UUID "+r.UUID+" already exists.")}
		},
		keys: sortKeys(t, nil, "actions", "conditions"),
	}
}

// InspectionRule finds a rule by UUID.
func (r reads) InspectionRule(ctx context.Context, uuid string) (metal.InspectionRule, error) {
	return inspectionRules.byUUID(ctx, r, uuid)
}

// InspectionRuleQuery filters a list of rules. Nil is no condition.
type InspectionRuleQuery struct {
	Page
	Phase *string
}

// InspectionRules lists rules.
func (r reads) InspectionRules(ctx context.Context, q InspectionRuleQuery) ([]metal.InspectionRule, error) {
	f := selectFrom(r, inspectionRules.table, nil)
	f.equal("phase", q.Phase)
	return inspectionRules.page(ctx, r, f, q.Page)
}

// InsertInspectionRule adds a rule and sets its ID, Version and, where it is not
// set, CreatedAt.
func (tx *Tx) InsertInspectionRule(ctx context.Context, r *metal.InspectionRule) error {
	return inspectionRules.add(ctx, tx, r)
}

// UpdateInspectionRule writes r where it still has the version that was read.
func (tx *Tx) UpdateInspectionRule(ctx context.Context, r *metal.InspectionRule) error {
	return inspectionRules.change(ctx, tx, r)
}

// DeleteInspectionRule removes a rule.
func (tx *Tx) DeleteInspectionRule(ctx context.Context, uuid string) error {
	return inspectionRules.remove(ctx, tx, uuid)
}
