package store

import (
	"context"
	"database/sql"
	"strings"
	"sync"

	"ferrule/failpoint"
)

// conn is where statements run: a pool, or one transaction.
type conn struct {
	*dialect
	db *sql.DB
	tx *sql.Tx // nil outside of a transaction
	// prepared is nil where the driver itself keeps prepared statements.
	prepared *statements
}

// statements are those of one SQLite pool that were prepared before: to parse a
// node's columns takes longer than to find the node.
type statements struct {
	mu    sync.RWMutex
	known map[string]*sql.Stmt
	met   map[string]bool // in a transaction, to be prepared after it
}

// mostStatements bounds what is kept; the texts written here are fewer.
const mostStatements = 256

func newStatements() *statements {
	return &statements{known: map[string]*sql.Stmt{}, met: map[string]bool{}}
}

// statement is the prepared form of text, nil where there is none. Within a
// transaction nothing is prepared, for that would wait for the transaction's
// own connection.
func (c conn) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	p := c.prepared
	if p == nil {
		return nil, nil
	}
	p.mu.RLock()
	known := p.known[text]
	p.mu.RUnlock()
	switch {
	case known != nil && c.tx != nil:
		return c.tx.StmtContext(ctx, known), nil
	case known != nil:
		return known, nil
	case c.tx != nil:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.met[text] = true
		return nil, nil
	}
	return p.prepare(ctx, c.db, text)
}

// prepare waits for a connection, so it must not hold the lock meanwhile: who
// has the connection may want the lock.
func (p *statements) prepare(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	p.mu.Lock()
	delete(p.met, text)
	full := len(p.known) >= mostStatements
	p.mu.Unlock()
	if full {
		return nil, nil
	}
	s, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.known[text]; other != nil {
		return other, s.Close()
	}
	p.known[text] = s
	return s, nil
}

// catchUp prepares what a transaction could not. That it fails is no harm.
func (p *statements) catchUp(ctx context.Context, db *sql.DB) {
	p.mu.RLock()
	var texts []string
	for text := range p.met {
		texts = append(texts, text)
	}
	p.mu.RUnlock()
	for _, text := range texts {
		if _, err := p.prepare(ctx, db, text); err != nil {
			return
		}
	}
}

func values(args []any) ([]any, error) {
	vals := make([]any, len(args))
	for i, a := range args {
		v, err := value(a)
		if err != nil {
			return nil, err
		}
		vals[i] = v
	}
	return vals, nil
}

// unwatched is the context that a statement of a fixed text runs under. SQLite's
// driver and database/sql both start a goroutine to watch one that can end;
// these statements are over sooner than that.
func (c conn) unwatched(ctx context.Context) (context.Context, error) {
	if c.prepared == nil {
		return ctx, nil
	}
	return context.WithoutCancel(ctx), ctx.Err()
}

// exec runs a statement and gives the number of rows it touched.
func (c conn) exec(ctx context.Context, text string, args ...any) (int64, error) {
	vals, err := values(args)
	if err != nil {
		return 0, err
	}
	if ctx, err = c.unwatched(ctx); err != nil {
		return 0, err
	}
	if c, err = c.within(ctx); err != nil {
		return 0, err
	}
	stmt, err := c.statement(ctx, text)
	if err != nil {
		return 0, c.seen(err)
	}
	var res sql.Result
	switch {
	case stmt != nil:
		res, err = stmt.ExecContext(ctx, vals...)
	case c.tx != nil:
		res, err = c.tx.ExecContext(ctx, c.text(text), vals...)
	default:
		res, err = c.db.ExecContext(ctx, c.text(text), vals...)
	}
	if err != nil {
		return 0, c.seen(err)
	}
	c.written(text)
	return res.RowsAffected()
}

func (c conn) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	vals, err := values(args)
	if err != nil {
		return nil, err
	}
	if ctx, err = c.unwatched(ctx); err != nil {
		return nil, err
	}
	if c, err = c.within(ctx); err != nil {
		return nil, err
	}
	stmt, err := c.statement(ctx, text)
	var rows *sql.Rows
	switch {
	case err != nil:
	case stmt != nil:
		rows, err = stmt.QueryContext(ctx, vals...)
	case c.tx != nil:
		rows, err = c.tx.QueryContext(ctx, c.text(text), vals...)
	default:
		rows, err = c.db.QueryContext(ctx, c.text(text), vals...)
	}
	if err == nil {
		c.written(text)
	}
	return rows, c.seen(err)
}

// written is a failpoint after each statement of a transaction that writes,
// named for what it does to which table: store-insert-inbox.
func (c conn) written(text string) {
	if c.tx == nil || !failpoint.Armed() {
		return
	}
	words := strings.Fields(text)
	switch verb := strings.ToLower(words[0]); verb {
	case "update":
		failpoint.Hit("store-update-" + words[1])
	case "insert", "delete":
		failpoint.Hit("store-" + verb + "-" + words[2])
	}
}

// unprepared runs a text that will not come again: arguments and all.
func (c conn) unprepared(ctx context.Context, text string) (*sql.Rows, error) {
	c, err := c.within(ctx)
	if err != nil {
		return nil, err
	}
	if c.tx != nil {
		return c.tx.QueryContext(ctx, text, c.textOnly...)
	}
	rows, err := c.db.QueryContext(ctx, text, c.textOnly...)
	return rows, c.seen(err)
}

// seen looks for an outage in what comes of a single statement; of those of a
// transaction, which may be tried again, Write does.
func (c conn) seen(err error) error {
	if c.tx != nil {
		return err
	}
	return c.outages.seen(err)
}

// scalar reads one value into dest; false where there is no row.
func (c conn) scalar(ctx context.Context, dest any, text string, args ...any) (bool, error) {
	rows, err := c.query(ctx, text, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	if err := rows.Scan(dest); err != nil {
		return false, err
	}
	return true, rows.Close()
}
