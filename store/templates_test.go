package store_test

import (
	"context"
	"testing"

	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func TestTemplatesAndRunbooksComeBackAsTheyWereWritten(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var template metal.DeployTemplate
		fill(t, &template)
		template.UUID = storetest.UUID()
		life[metal.DeployTemplate]{
			noun: "Deploy template", insert: onTx((*store.Tx).InsertDeployTemplate), update: onTx((*store.Tx).UpdateDeployTemplate),
			remove: onTx((*store.Tx).DeleteDeployTemplate), read: s.DeployTemplate,
			uuid:   func(d *metal.DeployTemplate) string { return d.UUID },
			change: func(d *metal.DeployTemplate) { d.Name, d.Steps = "CUSTOM_X", "[]" },
		}.run(t, s, template)
		var runbook metal.Runbook
		fill(t, &runbook)
		runbook.UUID = storetest.UUID()
		life[metal.Runbook]{
			noun: "Runbook", insert: onTx((*store.Tx).InsertRunbook), update: onTx((*store.Tx).UpdateRunbook),
			remove: onTx((*store.Tx).DeleteRunbook), read: s.Runbook,
			uuid:   func(r *metal.Runbook) string { return r.UUID },
			change: func(r *metal.Runbook) { r.Owner, r.Traits, r.Public = nil, nil, false },
		}.run(t, s, runbook)
	})
}

func TestTemplatesAndRunbooksAreFound(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, name := range []string{"CUSTOM_C", "CUSTOM_A", "CUSTOM_B"} {
				d := metal.DeployTemplate{UUID: storetest.UUID(), Name: name, Steps: "[]"}
				if err := tx.InsertDeployTemplate(ctx, &d); err != nil {
					return err
				}
			}
			for name, owner := range map[string]*string{"mine": ptr("p"), "theirs": ptr("q"), "public": nil} {
				r := metal.Runbook{UUID: storetest.UUID(), Name: name, Steps: "[]", Owner: owner, Public: owner == nil}
				if err := tx.InsertRunbook(ctx, &r); err != nil {
					return err
				}
			}
			return nil
		})
		name := func(d *metal.DeployTemplate) string { return d.Name }
		list, err := s.DeployTemplatesNamed(t.Context(), []string{"CUSTOM_A", "CUSTOM_C", "CUSTOM_X"})
		wantNames(t, list, err, name, "CUSTOM_C", "CUSTOM_A")
		list, err = s.DeployTemplatesNamed(t.Context(), nil)
		wantNames(t, list, err, name)
		list, err = s.DeployTemplates(t.Context(), store.Page{SortKey: "name", Limit: 2})
		wantNames(t, list, err, name, "CUSTOM_A", "CUSTOM_B")
		own, err := s.Runbooks(t.Context(), store.RunbookQuery{Project: ptr("p"), Page: store.Page{SortKey: "name"}})
		wantNames(t, own, err, func(r *metal.Runbook) string { return r.Name }, "mine", "public")
		d := metal.DeployTemplate{UUID: storetest.UUID(), Name: "CUSTOM_A", Steps: "[]"}
		err = s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.InsertDeployTemplate(ctx, &d) })
		wantRefusal(t, err, metal.Conflict, "A deploy template with name CUSTOM_A already exists.")
	})
}
