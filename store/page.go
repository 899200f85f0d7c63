package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"ferrule/metal"
)

// Page is a part of a list: Limit rows after the one with the UUID Marker. Null
// sorts before everything else; equal rows follow the order of creation.
type Page struct {
	Marker  string
	Limit   int64  // 0: all
	SortKey string // "": the list's own
	Desc    bool
}

// sortable is the columns that a list can be sorted by, under the names that
// clients use.
type sortable map[string]string

// filter puts a SELECT together; text in its arguments is checked as anywhere.
type filter struct {
	q   *bun.SelectQuery
	err error
}

func selectFrom[T any](r reads, t *table[T], columns []string) *filter {
	q := r.builder.NewSelect().Table(t.name)
	if columns == nil {
		for _, f := range t.fields(new(T)) {
			q.Column(f.column)
		}
	} else {
		q.Column(columns...)
	}
	return &filter{q: q}
}

// text is the query with its arguments in it.
func (f *filter) text() (string, error) {
	text, err := f.q.AppendQuery(f.q.DB().QueryGen(), nil)
	return string(text), err
}

func (f *filter) where(condition string, args ...any) {
	vals, err := values(args)
	if err != nil {
		f.err = err
		return
	}
	f.q.Where(condition, vals...)
}

// equal is no condition where v is nil.
func (f *filter) equal(column string, v *string) {
	if v != nil {
		f.where(column+" = ?", *v)
	}
}

// is says it as the partial indexes do: SQLite does not see that "flag = TRUE"
// means the same.
func (f *filter) is(flag string, v *bool) {
	switch {
	case v == nil:
	case *v:
		f.q.Where(flag)
	default:
		f.q.Where("NOT " + flag)
	}
}

// set asks whether the column holds a value. "NOT (… IS NOT NULL)" keeps SQLite
// from gathering almost all rows by an index, only to sort them.
func (f *filter) set(column string, v *bool) {
	switch {
	case v == nil:
	case *v:
		f.q.Where(column + " IS NOT NULL")
	default:
		f.q.Where("NOT (" + column + " IS NOT NULL)")
	}
}

// among is no condition where list is nil; an empty list matches nothing.
func (f *filter) among(column string, list []string) {
	if list == nil {
		return
	}
	for _, s := range list {
		if _, err := text(s); err != nil {
			f.err = err
			return
		}
	}
	if len(list) == 0 {
		f.q.Where("1 = 0")
		return
	}
	f.q.Where(column+" IN (?)", bun.List(list))
}

// page orders the rows and begins behind the marker. Paging by key: what is
// added or removed meanwhile makes no row come twice or not at all.
func page[T any](ctx context.Context, r reads, f *filter, p Page, t *table[T], keys sortable, notFound func(string) error) error {
	if f.err != nil {
		return f.err
	}
	key := "id"
	if p.SortKey != "" {
		var ok bool
		if key, ok = keys[p.SortKey]; !ok {
			return metal.Errorf(metal.Invalid, "The sort_key value %q is an invalid field for sorting", p.SortKey)
		}
	}
	if p.Marker != "" {
		if err := after(ctx, r, f.q, p, t.name, key, notFound); err != nil {
			return err
		}
	}
	way, nulls := "ASC", "FIRST"
	if p.Desc {
		way, nulls = "DESC", "LAST"
	}
	if key != "id" {
		f.q.OrderExpr(key + " " + way + " NULLS " + nulls)
	}
	f.q.OrderExpr("id " + way)
	if p.Limit > 0 {
		f.q.Limit(p.Limit)
	}
	return nil
}

func after(ctx context.Context, r reads, q *bun.SelectQuery, p Page, table, key string, notFound func(string) error) error {
	id, v, found, err := marker(ctx, r, p.Marker, table, key)
	if err != nil {
		return fmt.Errorf("find the page's marker: %w", err)
	}
	if !found {
		return notFound(p.Marker)
	}
	more := ">"
	if p.Desc {
		more = "<"
	}
	switch {
	case key == "id":
		q.Where("id "+more+" ?", id)
	case v == nil && p.Desc: // the nulls are the end
		q.Where(key+" IS NULL AND id < ?", id)
	case v == nil:
		q.Where("("+key+" IS NOT NULL OR id > ?)", id)
	case p.Desc:
		q.Where("("+key+" < ? OR "+key+" IS NULL OR ("+key+" = ? AND id < ?))", v, v, id)
	default:
		q.Where("("+key+" > ? OR ("+key+" = ? AND id > ?))", v, v, id)
	}
	return nil
}

func marker(ctx context.Context, r reads, uuid, table, key string) (id int64, v any, found bool, err error) {
	rows, err := r.c.query(ctx, "SELECT id, "+key+" FROM "+table+" WHERE uuid = ?", uuid)
	if err != nil {
		return 0, nil, false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return 0, nil, false, rows.Err()
	}
	if err := rows.Scan(&id, &v); err != nil {
		return 0, nil, false, err
	}
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return id, v, true, rows.Close()
}
