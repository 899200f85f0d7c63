package v1

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"ferrule/api/policy"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// runbooks is the resource of runbooks (Ironic: controllers/v1/runbook).
var runbooks = newResource(resource[metal.Runbook]{
	registry: openapi.RunbookFields, noun: "runbook", path: "runbooks", key: "runbooks",
	required: []string{"steps", "name"}, listed: []string{"uuid", "name"}, unknown: true, marker: isLogicalName, prune: runbookStep.prune,
	uuid: runbookUUID,
	fields: map[string]property[metal.Runbook]{
		"uuid":            uuidProperty(func(r *metal.Runbook) *string { return &r.UUID }),
		"name":            runbookName(),
		"description":     textProperty("description", 255, func(r *metal.Runbook) **string { return &r.Description }),
		"steps":           stepsProperty(runbookStep, func(r *metal.Runbook) *metal.JSON { return &r.Steps }),
		"disable_ramdisk": strictFlag("disable_ramdisk", func(r *metal.Runbook) *bool { return &r.DisableRamdisk }),
		"public":          strictFlag("public", func(r *metal.Runbook) *bool { return &r.Public }),
		"owner":           textProperty("owner", 255, func(r *metal.Runbook) **string { return &r.Owner }),
		"extra":           objectProperty("extra", func(r *metal.Runbook) *metal.JSON { return &r.Extra }),
		"traits":          {show: func(b []byte, r *metal.Runbook, _ *encoding) []byte { return appendStrings(b, r.Traits) }},
		"created_at":      timeProperty(func(r *metal.Runbook) *time.Time { return &r.CreatedAt }),
		"updated_at":      optionalTimeProperty(func(r *metal.Runbook) **time.Time { return &r.UpdatedAt }),
		"links":           linksProperty(runbookUUID, "runbooks"),
	},
})

func runbookUUID(r *metal.Runbook) string { return r.UUID }

// runbookName is the name as the newest version has it; a create below 1.112
// wants a trait.
func runbookName() property[metal.Runbook] {
	p := wordProperty("name", func(r *metal.Runbook) *string { return &r.Name })
	p.set = func(r *metal.Runbook, value any) error {
		name, ok := value.(string)
		switch {
		case !ok:
			return wrongType(value, "string")
		case name == "":
			return empty(value)
		case len(name) > 255:
			return tooLong(value)
		case !isLogicalName(name):
			return noMatch(value, `^[A-Za-z0-9\-._~]+$`)
		}
		r.Name = name
		return nil
	}
	return p
}

// strictFlag is a boolean or null, and no word that means one.
func strictFlag[T any](name string, at func(v *T) *bool) property[T] {
	p := flagProperty(name, false, at)
	p.set = func(v *T, value any) error {
		flag, ok := value.(bool)
		if !ok && value != nil {
			return wrongType(value, "boolean", "null")
		}
		*at(v) = flag
		return nil
	}
	return p
}

// ofRunbook names a runbook by its owner.
func ofRunbook(r *metal.Runbook) policy.Values {
	return policy.Values{"runbook.owner": textOrNil(r.Owner)}
}

// runbookSince is the version with free names, descriptions and traits.
const runbookSince = 112

func (s *Service) listRunbooks(c *call) error {
	l, err := runbooks.list(s, c, runbooks.path, false)
	if err != nil {
		return err
	}
	project, err := c.rights.project(c.op, nil)
	if err != nil {
		return err
	}
	page, err := s.store.Runbooks(c.Request().Context(), store.RunbookQuery{Page: l.page, Project: project})
	if err != nil {
		return err
	}
	return runbooks.answerList(c, l, page)
}

// runbook finds the runbook that the path names, if the sender may do to it what
// the operation does.
func (s *Service) runbook(c *call) (metal.Runbook, error) {
	r, err := s.anyRunbook(c)
	if err != nil {
		return r, err
	}
	return r, c.rights.authorize(c.op.Policies[0], ofRunbook(&r))
}

func (s *Service) anyRunbook(c *call) (metal.Runbook, error) {
	ident, err := c.ident("runbook")
	if err != nil {
		return metal.Runbook{}, err
	}
	return s.store.Runbook(c.Request().Context(), ident)
}

func (s *Service) getRunbook(c *call) error {
	r, err := s.anyRunbook(c)
	if err != nil {
		return err
	}
	if err := c.rights.authorize(c.op.Policies[0], ofRunbook(&r)); err != nil && (!r.Public || isScope(err)) {
		return err
	}
	return runbooks.answerOne(c, &r)
}

func (s *Service) createRunbook(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	if c.version < runbookSince {
		if has(body, "description") {
			return schemaOf(runbooks.noun, unexpected("description"))
		}
		if name, ok := body["name"].(string); ok {
			if err := checkTrait(name); err != nil {
				return schemaOf(runbooks.noun, err)
			}
		}
	}
	r := &metal.Runbook{}
	if err := runbooks.read(r, body); err != nil {
		return err
	}
	if err := c.authorizeRunbookSteps(r.Steps); err != nil {
		return err
	}
	if err := c.rights.takeRunbook(r); err != nil {
		return err
	}
	r.UUID = filledIn(r.UUID)
	secrets, err := sealSteps(metal.RunbookSecrets, r.UUID, "", &r.Steps)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertRunbook(ctx, r); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	return runbooks.created(c, r)
}

// takeRunbook makes a runbook that a project's manager creates the project's
// own. Without system scope, which noauth and http_basic have not, the creator
// is taken for such.
func (r *rights) takeRunbook(b *metal.Runbook) error {
	if r.who.SystemScope == "all" {
		return nil
	}
	project := r.who.ProjectID
	if filled(b.Owner) && *b.Owner != project {
		return badRequest("Cannot create a runbook as a project scoped admin with an owner other than your own project.")
	}
	if project != "" && b.Public {
		return badRequest("Cannot create a public runbook as a project scoped admin.")
	}
	b.Owner = nil
	if project != "" {
		b.Owner = &project
	}
	return nil
}

func (s *Service) updateRunbook(c *call) error {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return err
	}
	if c.version < runbookSince && touches(ops, "description") {
		return badRequest("Cannot patch /description in version %s.", c.version)
	}
	if err := checkRoots(ops, openapi.RunbookFields); err != nil {
		return err
	}
	r, err := s.anyRunbook(c)
	if err != nil {
		return err
	}
	for _, name := range runbookPolicies(ops) {
		if err := c.rights.authorize(name, ofRunbook(&r)); err != nil {
			return err
		}
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if r, err = tx.Runbook(ctx, r.UUID); err != nil {
			return err
		}
		before := r.Steps
		if err := patchRunbook(&r, ops); err != nil {
			return err
		}
		if touches(ops, "steps") {
			if err := c.authorizeRunbookSteps(r.Steps); err != nil {
				return err
			}
		}
		secrets, err := sealSteps(metal.RunbookSecrets, r.UUID, before, &r.Steps)
		if err != nil {
			return err
		}
		if err := tx.UpdateRunbook(ctx, &r); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	return runbooks.answer(c, http.StatusOK, &r)
}

// patchRunbook applies the operations. Whether it is public decides whether a
// runbook can have an owner.
func patchRunbook(r *metal.Runbook, ops []patchOp) error {
	owner, public := patchValues(ops, "/owner"), patchValues(ops, "/public")
	if len(owner) > 0 {
		stays := r.Public && len(public) == 0
		if stays || len(public) > 0 && truthy(public[0]) {
			return badRequest("There cannot be an owner for a public runbook.")
		}
	}
	if len(public) > 0 {
		r.Owner = nil
	}
	return runbooks.patch(r, ops)
}

// runbookPolicies are the policies that a patch of a runbook needs.
func runbookPolicies(ops []patchOp) []string {
	var names []string
	for _, op := range ops {
		name := "baremetal:runbook:update"
		switch {
		case strings.HasPrefix(op.Path, "/owner"):
			name = "baremetal:runbook:update:owner"
		case strings.HasPrefix(op.Path, "/public"):
			name = "baremetal:runbook:update:public"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return []string{"baremetal:runbook:update"}
	}
	return names
}

func (s *Service) deleteRunbook(c *call) error {
	r, err := s.runbook(c)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DeleteRunbook(ctx, r.UUID); err != nil {
			return err
		}
		return tx.DeleteSecrets(ctx, metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: r.UUID})
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
