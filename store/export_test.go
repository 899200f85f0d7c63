package store

import (
	"context"
	"database/sql"
	"strings"
)

// The texts of queries, for the tests that look at how an engine runs them.

// NodesText is the query that lists nodes.
func (s *Store) NodesText(ctx context.Context, q NodeQuery) (string, error) {
	return textOf(s.nodesIn(ctx, q, nil))
}

// PortsText is the query that lists ports.
func (s *Store) PortsText(ctx context.Context, q PortQuery) (string, error) {
	return textOf(s.portsIn(ctx, q))
}

// AllocationsText is the query that lists allocations.
func (s *Store) AllocationsText(ctx context.Context, q AllocationQuery) (string, error) {
	f := s.allocationsIn(q)
	return textOf(f, page(ctx, s.reads, f, q.Page, allocations.table, allocations.keys, allocations.notFound))
}

func textOf(f *filter, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return f.text()
}

// FreeNodeText is the query that finds a free node, with its arguments in it.
func (s *Store) FreeNodeText(f Fit, start string) string {
	where, args := f.where()
	text := freeNode + where + fromOn
	for _, arg := range append(args, start) {
		text = strings.Replace(text, "?", "'"+arg.(string)+"'", 1)
	}
	return text
}

// Analyze does what autovacuum does within a minute.
func (s *Store) Analyze(ctx context.Context) error {
	_, err := s.db.writer.ExecContext(ctx, "ANALYZE")
	return err
}

// Raw runs a text as it is.
func (s *Store) Raw(ctx context.Context, text string) (*sql.Rows, error) {
	return s.c.unprepared(ctx, text)
}

// Waiting is how many writes wait for their turn.
func (s *Store) Waiting() int {
	s.together.mu.Lock()
	defer s.together.mu.Unlock()
	return len(s.together.queue)
}

// Break ends the transaction as a failure of the engine does.
func (tx *Tx) Break(ctx context.Context) error {
	_, err := tx.tx.ExecContext(ctx, "ROLLBACK")
	return err
}

// DropJobs loses all jobs.
func (s *Store) DropJobs(ctx context.Context) error {
	_, err := s.db.writer.ExecContext(ctx, "DELETE FROM river_job")
	return err
}
