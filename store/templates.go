package store

import (
	"context"

	"ferrule/metal"
)

var (
	templates = newTemplates()
	runbooks  = newRunbooks()
)

func newTemplates() *records[metal.DeployTemplate] {
	t := newTable("deploy_templates", func(d *metal.DeployTemplate) []field {
		return []field{
			fixed("id", &d.ID),
			fixed("uuid", &d.UUID),
			col("name", &d.Name),
			col("steps", (*string)(&d.Steps)),
			col("extra", (*string)(&d.Extra)),
			fixed("created_at", instant{&d.CreatedAt}),
			col("updated_at", optTime{&d.UpdatedAt}),
			fixed("version", &d.Version),
		}
	})
	return &records[metal.DeployTemplate]{
		table: t, noun: "Deploy template",
		marks: func(d *metal.DeployTemplate) marks {
			return marks{&d.ID, &d.UUID, &d.CreatedAt, &d.UpdatedAt, &d.Version, []*metal.JSON{&d.Extra}}
		},
		unique: func(d *metal.DeployTemplate) []unique {
			return []unique{
				taken("deploy_templates", "uuid", d.UUID, d.ID, "A deploy template with UUID "+d.UUID+" already exists."),
				taken("deploy_templates", "name", d.Name, d.ID, "A deploy template with name "+d.Name+" already exists."),
			}
		},
		keys: sortKeys(t, nil, "extra", "steps"),
	}
}

func newRunbooks() *records[metal.Runbook] {
	t := newTable("runbooks", func(r *metal.Runbook) []field {
		return []field{
			fixed("id", &r.ID),
			fixed("uuid", &r.UUID),
			col("name", &r.Name),
			col("description", optText{&r.Description}),
			col("steps", (*string)(&r.Steps)),
			col("traits", textList{&r.Traits}),
			col("disable_ramdisk", &r.DisableRamdisk),
			col("public", &r.Public),
			col("owner", optText{&r.Owner}),
			col("extra", (*string)(&r.Extra)),
			fixed("created_at", instant{&r.CreatedAt}),
			col("updated_at", optTime{&r.UpdatedAt}),
			fixed("version", &r.Version),
		}
	})
	return &records[metal.Runbook]{
		table: t, noun: "Runbook",
		marks: func(r *metal.Runbook) marks {
			return marks{&r.ID, &r.UUID, &r.CreatedAt, &r.UpdatedAt, &r.Version, []*metal.JSON{&r.Extra}}
		},
		unique: func(r *metal.Runbook) []unique {
			return []unique{
				taken("runbooks", "uuid", r.UUID, r.ID, "A runbook with UUID "+r.UUID+" already exists."),
				taken("runbooks", "name", r.Name, r.ID, "A runbook with name "+r.Name+" already exists."),
			}
		},
		keys: sortKeys(t, nil, "extra", "steps", "traits"),
	}
}

// DeployTemplate finds a template by UUID or name.
func (r reads) DeployTemplate(ctx context.Context, ident string) (metal.DeployTemplate, error) {
	return templates.byIdent(ctx, r, ident)
}

// DeployTemplates lists templates.
func (r reads) DeployTemplates(ctx context.Context, p Page) ([]metal.DeployTemplate, error) {
	return templates.page(ctx, r, selectFrom(r, templates.table, nil), p)
}

// DeployTemplatesNamed lists the templates whose names are among these, in the
// order of their creation.
func (r reads) DeployTemplatesNamed(ctx context.Context, names []string) ([]metal.DeployTemplate, error) {
	if len(names) == 0 {
		return nil, nil
	}
	f := selectFrom(r, templates.table, nil)
	f.among("name", names)
	return templates.page(ctx, r, f, Page{})
}

// InsertDeployTemplate adds a template and sets its ID, Version and, where they
// are not set, CreatedAt and Extra.
func (tx *Tx) InsertDeployTemplate(ctx context.Context, d *metal.DeployTemplate) error {
	return templates.add(ctx, tx, d)
}

// UpdateDeployTemplate writes d where it still has the version that was read.
func (tx *Tx) UpdateDeployTemplate(ctx context.Context, d *metal.DeployTemplate) error {
	return templates.change(ctx, tx, d)
}

// DeleteDeployTemplate removes a template.
func (tx *Tx) DeleteDeployTemplate(ctx context.Context, uuid string) error {
	return templates.remove(ctx, tx, uuid)
}

// RunbookQuery filters a list of runbooks. Nil is no condition.
type RunbookQuery struct {
	Page
	// Project is whose runbooks are listed, with all that are public.
	Project *string
}

// Runbook finds a runbook by UUID or name.
func (r reads) Runbook(ctx context.Context, ident string) (metal.Runbook, error) {
	return runbooks.byIdent(ctx, r, ident)
}

// Runbooks lists runbooks.
func (r reads) Runbooks(ctx context.Context, q RunbookQuery) ([]metal.Runbook, error) {
	f := selectFrom(r, runbooks.table, nil)
	if q.Project != nil {
		f.where("(owner = ? OR public)", *q.Project)
	}
	return runbooks.page(ctx, r, f, q.Page)
}

// InsertRunbook adds a runbook and sets its ID, Version and, where they are not
// set, CreatedAt and Extra.
func (tx *Tx) InsertRunbook(ctx context.Context, r *metal.Runbook) error {
	return runbooks.add(ctx, tx, r)
}

// UpdateRunbook writes r where it still has the version that was read.
func (tx *Tx) UpdateRunbook(ctx context.Context, r *metal.Runbook) error {
	return runbooks.change(ctx, tx, r)
}

// DeleteRunbook removes a runbook.
func (tx *Tx) DeleteRunbook(ctx context.Context, uuid string) error {
	return runbooks.remove(ctx, tx, uuid)
}
