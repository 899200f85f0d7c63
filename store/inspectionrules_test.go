package store_test

import (
	"context"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestInspectionRules(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var want metal.InspectionRule
		fill(t, &want)
		want.UUID = storetest.UUID()
		life[metal.InspectionRule]{
			noun: "Inspection rule", insert: onTx((*store.Tx).InsertInspectionRule), update: onTx((*store.Tx).UpdateInspectionRule),
			remove: onTx((*store.Tx).DeleteInspectionRule), read: s.InspectionRule,
			uuid:   func(r *metal.InspectionRule) string { return r.UUID },
			change: func(r *metal.InspectionRule) { r.Description, r.Priority, r.Sensitive = nil, 0, false },
		}.run(t, s, want)
		for i, phase := range []string{"main", "other", "main"} {
			r := metal.InspectionRule{UUID: storetest.UUID(), Description: ptr(string(rune('a' + i))), Priority: int64(9 - i), Phase: phase, Actions: "[]", Conditions: "[]"}
			storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.InsertInspectionRule(ctx, &r) })
		}
		list, err := s.InspectionRules(t.Context(), store.InspectionRuleQuery{Phase: ptr("main"), Page: store.Page{SortKey: "priority"}})
		wantNames(t, list, err, func(r *metal.InspectionRule) string { return *r.Description }, "c", "a")
	})
}
