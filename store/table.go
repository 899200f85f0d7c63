package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// table knows how records of one type lie in their table. The one list of
// fields serves every read and write.
type table[T any] struct {
	name   string
	fields func(*T) []field
	sel    string // SELECT … FROM name
	ins    string
	upd    string // UPDATE name SET … (all that is not fixed)
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

// scan reads all rows through one scratch record, whose places are collected
// once. Columns nil means all.
func (t *table[T]) scan(rows *sql.Rows, columns []string) ([]T, error) {
	defer rows.Close()
	var scratch, zero T
	var places []any
	fields := t.fields(&scratch)
	if columns == nil {
		for _, f := range fields {
			places = append(places, f.at)
		}
	}
	for _, c := range columns {
		for _, f := range fields {
			if f.column == c {
				places = append(places, f.at)
			}
		}
	}
	var list []T
	for rows.Next() {
		scratch = zero
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		list = append(list, scratch)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return list, rows.Close()
}

// insert adds v; false where a unique index has its value already.
func (t *table[T]) insert(ctx context.Context, c conn, v *T) (bool, error) {
	fields := t.fields(v)
	args := make([]any, len(fields))
	for i, f := range fields {
		args[i] = f.at
	}
	n, err := c.exec(ctx, t.ins, args...)
	return n == 1, err
}

// update writes all of v that is not fixed; tail ends the statement.
func (t *table[T]) update(ctx context.Context, c conn, v *T, tail string, tailArgs ...any) (int64, error) {
	var args []any
	for _, f := range t.fields(v) {
		if !f.fixed {
			args = append(args, f.at)
		}
	}
	return c.exec(ctx, t.upd+tail, append(args, tailArgs...)...)
}
