// Package store keeps the domain: nodes, ports and conductors, what each node
// is doing, its inbox, the commands to agents, history, sealed secrets and the
// records of trust. One code path serves two engines, SQLite (embedded) and
// PostgreSQL.
//
// # Reading and writing
//
// Reads are methods of both *Store and *Tx. On *Store they see what is
// committed and, on SQLite, use a pool of readers that the writer never blocks.
// Writes happen in Store.Write, each wholly or not at all and as if alone, and
// repeated from the start when the engine asks for it; its function must
// therefore have no effect but through its Tx, and must read through that Tx
// what it means to change:
//
//	err := s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
//		node, err := tx.LockNode(ctx, uuid)
//		if err != nil {
//			return err
//		}
//		node.Maintenance = true
//		return tx.UpdateNode(ctx, node)
//	})
//
// Refusals are *metal.Error: NotFound, Conflict (a duplicate, or a version that
// is no longer current) and Invalid (text with NUL or invalid UTF-8, which
// never reaches SQL).
//
// Statements of a fixed text are written out and prepared once; lists are put
// together by bun from their filters. How a record lies in its table is said in
// one place each, the list of its fields, for reading and writing alike.
//
// # Events and jobs
//
// Tx.Post writes an event to a node's inbox and, only where the node's wake
// mark was clear, a River job AdvanceArgs in the same transaction. The worker
// calls Tx.TakeInbox, which clears the mark and hands each event out exactly
// once. Tx.SetTimer schedules a job TimerArgs. Store.Workers gives a River
// client that works them, whichever the engine.
//
// Store.Subscribe tells at once of what a commit anywhere in the process (on
// PostgreSQL: anywhere at all) has made ready: a job, a command for an agent, a
// command's result. It is a hint; a slow poll is the net under it.
//
// The package must not import api, conductor, link or trust.
package store
