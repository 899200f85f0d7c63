package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"ferrule/metal"
)

// records is a table of objects that have a UUID, times and a version, which
// most objects of the API are.
type records[T any] struct {
	*table[T]
	noun   string // what texts call one
	marks  func(v *T) marks
	unique func(v *T) []unique
	keys   sortable
}

// marks are where an object keeps what the store looks after itself.
type marks struct {
	id      *int64
	uuid    *string
	created *time.Time
	updated **time.Time
	version *int64
	objects []*metal.JSON // {} where nobody has set them
}

// sortKeys are a table's columns less those that do not sort, and other names
// that clients know columns by.
func sortKeys[T any](t *table[T], aliases sortable, not ...string) sortable {
	keys := sortable{}
	for _, f := range t.fields(new(T)) {
		if !slices.Contains(not, f.column) {
			keys[f.column] = f.column
		}
	}
	for alias, column := range aliases {
		keys[alias] = column
	}
	return keys
}

// taken is a value that no other row of the table may have; text is the refusal.
func taken(table, column string, value any, id int64, text string) unique {
	return unique{
		index: table + "_" + column, probe: "SELECT 1 FROM " + table + " WHERE " + column + " = ? AND id <> ?",
		args: []any{value, id}, text: text,
	}
}

func (k *records[T]) notFound(ident string) error {
	return metal.Errorf(metal.NotFound, "%s %s could not be found.", k.noun, ident)
}

// find reads one object; tail is what follows the table's name.
func (k *records[T]) find(ctx context.Context, r reads, ident, tail string, args ...any) (T, error) {
	v, err := k.get(ctx, r.c, tail, args...)
	if errors.Is(err, errNoRow) {
		return v, k.notFound(ident)
	}
	return v, failed(err, "read %s %s", k.noun, ident)
}

// byUUID reads the object with the UUID, taken literally.
func (k *records[T]) byUUID(ctx context.Context, r reads, uuid string) (T, error) {
	return k.find(ctx, r, uuid, "WHERE uuid = ?", uuid)
}

// byIdent reads the object with the UUID or name.
func (k *records[T]) byIdent(ctx context.Context, r reads, ident string) (T, error) {
	return k.find(ctx, r, ident, "WHERE uuid = ? OR name = ?", ident, ident)
}

// page reads one page of what the filter lets through.
func (k *records[T]) page(ctx context.Context, r reads, f *filter, p Page) ([]T, error) {
	if err := page(ctx, r, f, p, k.table, k.keys, k.notFound); err != nil {
		return nil, failed(err, "list %s", k.name)
	}
	list, err := k.table.find(ctx, r.c, f, nil)
	return list, failed(err, "list %s", k.name)
}

// add inserts an object and sets its ID, Version and, where they are not set,
// CreatedAt and the empty objects.
func (k *records[T]) add(ctx context.Context, tx *Tx, v *T) error {
	m := k.marks(v)
	*m.id, *m.version = tx.newID(), 1
	if m.created.IsZero() {
		*m.created = tx.now()
	}
	for _, o := range m.objects {
		if *o == "" {
			*o = metal.EmptyObject
		}
	}
	ok, err := k.insert(ctx, tx.c, v)
	if err != nil {
		return failed(err, "insert %s %s", k.noun, *m.uuid)
	}
	if !ok {
		return tx.duplicate(ctx, "", k.unique(v))
	}
	return nil
}

// change writes an object where it still has the version that was read.
func (k *records[T]) change(ctx context.Context, tx *Tx, v *T) error {
	m := k.marks(v)
	now, before := tx.now(), *m.updated
	*m.updated = &now
	changed, err := k.update(ctx, tx.c, v, ", version = version + 1 WHERE uuid = ? AND version = ?", m.uuid, m.version)
	if err == nil && changed == 1 {
		*m.version++
		return nil
	}
	*m.updated = before
	if index, ok := tx.c.duplicate(err); err != nil && ok {
		return tx.duplicate(ctx, index, k.unique(v))
	}
	if err != nil {
		return failed(err, "update %s %s", k.noun, *m.uuid)
	}
	if _, err := k.byUUID(ctx, tx.reads, *m.uuid); err != nil {
		return err
	}
	return metal.Errorf(metal.Conflict, "%s %s was changed by another request meanwhile. Read it again and retry.", k.noun, *m.uuid)
}

// remove deletes the object with the UUID.
func (k *records[T]) remove(ctx context.Context, tx *Tx, uuid string) error {
	gone, err := tx.c.exec(ctx, "DELETE FROM "+k.name+" WHERE uuid = ?", uuid)
	if err != nil {
		return failed(err, "delete %s %s", k.noun, uuid)
	}
	if gone == 0 {
		return k.notFound(uuid)
	}
	return nil
}
