package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
)

// table knows how records of one type lie in their table. The one list of
// fields serves every read and write.
type table[T any] struct {
	name   string
	fields func(*T) []field
	sel    string // SELECT … FROM name
	ins    string
	upd    string // UPDATE name SET … (all that is not fixed)

	bindings sync.Pool // of *binding[T]
}

func newTable[T any](name string, fields func(*T) []field) *table[T] {
	t := &table[T]{name: name, fields: fields}
	var all, set []string
	for _, f := range fields(new(T)) {
		all = append(all, f.column)
		if !f.fixed {
			set = append(set, f.column+" = ?")
		}
	}
	t.sel = "SELECT " + strings.Join(all, ", ") + " FROM " + name
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(all)), ", ")
	t.ins = "INSERT INTO " + name + " (" + strings.Join(all, ", ") + ") VALUES (" + marks + ") ON CONFLICT DO NOTHING"
	t.upd = "UPDATE " + name + " SET " + strings.Join(set, ", ")
	return t
}

// errNoRow is what get gives where nothing matches.
var errNoRow = errors.New("no such row")

// get reads one record; tail is what follows the table's name.
func (t *table[T]) get(ctx context.Context, c conn, tail string, args ...any) (T, error) {
	var v T
	list, err := t.list(ctx, c, tail, args...)
	if err != nil {
		return v, err
	}
	if len(list) == 0 {
		return v, errNoRow
	}
	return list[0], nil
}

// list reads records; tail is what follows the table's name.
func (t *table[T]) list(ctx context.Context, c conn, tail string, args ...any) ([]T, error) {
	rows, err := c.query(ctx, t.sel+" "+tail, args...)
	if err != nil {
		return nil, err
	}
	return t.scan(rows, nil)
}

// only is those of columns that the table has, with the UUID, in its own order;
// nil is all.
func (t *table[T]) only(columns []string) []string {
	if columns == nil {
		return nil
	}
	var have []string
	for _, f := range t.fields(new(T)) {
		if f.column == "uuid" || slices.Contains(columns, f.column) {
			have = append(have, f.column)
		}
	}
	return have
}

// find runs a query that was put together from filters. Its text is not like
// the last one's, so it stays out of the cache of prepared statements.
func (t *table[T]) find(ctx context.Context, c conn, f *filter, columns []string) ([]T, error) {
	text, err := f.text()
	if err != nil {
		return nil, err
	}
	rows, err := c.unprepared(ctx, text)
	if err != nil {
		return nil, err
	}
	return t.scan(rows, columns)
}

// binding is a record with the places of its columns: they are collected once,
// and the record is used again.
type binding[T any] struct {
	record T
	fields []field
	all    []any
}

func (t *table[T]) bind() *binding[T] {
	if b, ok := t.bindings.Get().(*binding[T]); ok {
		return b
	}
	b := new(binding[T])
	b.fields = t.fields(&b.record)
	for _, f := range b.fields {
		b.all = append(b.all, f.at)
	}
	return b
}

func (t *table[T]) release(b *binding[T]) {
	var zero T
	b.record = zero
	t.bindings.Put(b)
}

// places are those of columns, in their order; nil is all.
func (b *binding[T]) places(columns []string) []any {
	if columns == nil {
		return b.all
	}
	var places []any
	for _, c := range columns {
		for _, f := range b.fields {
			if f.column == c {
				places = append(places, f.at)
			}
		}
	}
	return places
}

// scan reads all rows. Columns nil means all.
func (t *table[T]) scan(rows *sql.Rows, columns []string) ([]T, error) {
	defer rows.Close()
	b := t.bind()
	defer t.release(b)
	places := b.places(columns)
	var list []T
	var zero T
	for rows.Next() {
		b.record = zero
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		list = append(list, b.record)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return list, rows.Close()
}

// insert adds v; false where a unique index has its value already.
func (t *table[T]) insert(ctx context.Context, c conn, v *T) (bool, error) {
	b := t.bind()
	defer t.release(b)
	b.record = *v
	n, err := c.exec(ctx, t.ins, b.all...)
	return n == 1, err
}

// update writes all of v that is not fixed; tail ends the statement.
func (t *table[T]) update(ctx context.Context, c conn, v *T, tail string, tailArgs ...any) (int64, error) {
	b := t.bind()
	defer t.release(b)
	b.record = *v
	args := make([]any, 0, len(b.fields)+len(tailArgs))
	for _, f := range b.fields {
		if !f.fixed {
			args = append(args, f.at)
		}
	}
	return c.exec(ctx, t.upd+tail, append(args, tailArgs...)...)
}
