package v1

import (
	"context"
	"net/http"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// deployTemplates is the resource of deploy templates (Ironic:
// controllers/v1/deploy_template).
var deployTemplates = newResource(resource[metal.DeployTemplate]{
	registry: openapi.DeployTemplateFields, noun: "template", enum: true, path: "deploy_templates", key: "deploy_templates",
	required: []string{"steps", "name"}, listed: []string{"uuid", "name"}, unknown: true, marker: isLogicalName, prune: templateStep.prune,
	uuid: templateUUID,
	fields: map[string]property[metal.DeployTemplate]{
		"uuid":  uuidProperty(func(d *metal.DeployTemplate) *string { return &d.UUID }),
		"name":  traitNameProperty(func(d *metal.DeployTemplate) *string { return &d.Name }),
		"steps": stepsProperty(templateStep, func(d *metal.DeployTemplate) *metal.JSON { return &d.Steps }),
		"extra": objectProperty("extra", func(d *metal.DeployTemplate) *metal.JSON { return &d.Extra }),
		// Taken on create, and kept nowhere.
		"description": {
			get: func(*metal.DeployTemplate) any { return nil },
			set: func(_ *metal.DeployTemplate, value any) error {
				_, err := optionalText(255, value)
				return err
			},
		},
		"created_at": timeProperty(func(d *metal.DeployTemplate) *time.Time { return &d.CreatedAt }),
		"updated_at": optionalTimeProperty(func(d *metal.DeployTemplate) **time.Time { return &d.UpdatedAt }),
		"links":      linksProperty(templateUUID, "deploy_templates"),
	},
})

func templateUUID(d *metal.DeployTemplate) string { return d.UUID }

func (s *Service) listTemplates(c *call) error {
	l, err := deployTemplates.list(s, c, deployTemplates.path, false)
	if err != nil {
		return err
	}
	page, err := s.store.DeployTemplates(c.Request().Context(), l.page)
	if err != nil {
		return err
	}
	return deployTemplates.answerList(c, l, page)
}

func (s *Service) template(c *call) (metal.DeployTemplate, error) {
	ident, err := c.ident("template")
	if err != nil {
		return metal.DeployTemplate{}, err
	}
	return withSuffix(c, ident, s.store.DeployTemplate)
}

func (s *Service) getTemplate(c *call) error {
	d, err := s.template(c)
	if err != nil {
		return err
	}
	return deployTemplates.answerOne(c, &d)
}

func (s *Service) createTemplate(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	given := metal.ToJSON(body["steps"]) // an answer shows priorities as they came
	d := &metal.DeployTemplate{}
	if err := deployTemplates.read(d, body); err != nil {
		return err
	}
	d.UUID = filledIn(d.UUID)
	secrets, err := sealSteps(metal.DeployTemplateSecrets, d.UUID, "", &d.Steps)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertDeployTemplate(ctx, d); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	d.Steps = given
	return deployTemplates.created(c, d)
}

func (s *Service) updateTemplate(c *call) error {
	ops, err := deployTemplates.changes(c)
	if err != nil {
		return err
	}
	if touches(ops, "description") {
		return badRequest("A deploy template keeps no description.")
	}
	d, err := s.template(c)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if d, err = tx.DeployTemplate(ctx, d.UUID); err != nil {
			return err
		}
		before := d.Steps
		if err := deployTemplates.patch(&d, ops); err != nil {
			return err
		}
		secrets, err := sealSteps(metal.DeployTemplateSecrets, d.UUID, before, &d.Steps)
		if err != nil {
			return err
		}
		if err := tx.UpdateDeployTemplate(ctx, &d); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	return deployTemplates.answer(c, http.StatusOK, &d)
}

func (s *Service) deleteTemplate(c *call) error {
	d, err := s.template(c)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DeleteDeployTemplate(ctx, d.UUID); err != nil {
			return err
		}
		return tx.DeleteSecrets(ctx, metal.SecretPlace{Owner: metal.DeployTemplateSecrets, UUID: d.UUID})
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
