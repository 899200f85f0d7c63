package store

import (
	"context"
	"slices"
	"sync"
)

// nodeLocks queues the transactions of this process that want the same node's
// row. The first asks PostgreSQL for the row's lock; the others wait here,
// without a connection, so that however many requests there are for a node that
// is locked elsewhere, they hold one connection. SQLite needs none: its writers
// take turns anyway.
type nodeLocks struct {
	mu     sync.Mutex
	queues map[string][]chan struct{} // a node that is held has a queue, which may be empty
}

func newNodeLocks() *nodeLocks { return &nodeLocks{queues: map[string][]chan struct{}{}} }

// try takes the node where nobody has it.
func (l *nodeLocks) try(uuid string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.queues[uuid]; held {
		return false
	}
	l.queues[uuid] = nil
	return true
}

// wait takes the node when all who came before have released it.
func (l *nodeLocks) wait(ctx context.Context, uuid string) error {
	l.mu.Lock()
	queue, held := l.queues[uuid]
	if !held {
		l.queues[uuid] = nil
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.queues[uuid] = append(queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	at := slices.Index(l.queues[uuid], turn)
	if at >= 0 {
		l.queues[uuid] = slices.Delete(l.queues[uuid], at, at+1)
	}
	l.mu.Unlock()
	if at < 0 { // the turn came at the same moment
		l.release(uuid)
	}
	return ctx.Err()
}

// release gives the node to whoever waits longest.
func (l *nodeLocks) release(uuid string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue := l.queues[uuid]
	if len(queue) == 0 {
		delete(l.queues, uuid)
		return
	}
	l.queues[uuid] = queue[1:]
	close(queue[0])
}

// nodeBusy ends a try of a transaction that wants a node which another
// transaction of this process has.
type nodeBusy struct{ uuid string }

func (e *nodeBusy) Error() string {
	return "node " + e.uuid + " is in use by another transaction of this process"
}

// holding is the nodes that one call of Write has. It waits only while it has
// none, so that two can never wait for each other.
type holding struct {
	locks *nodeLocks // nil on SQLite
	nodes []string
}

func (h *holding) claim(uuid string) error {
	if h.locks == nil || slices.Contains(h.nodes, uuid) {
		return nil
	}
	if !h.locks.try(uuid) {
		return &nodeBusy{uuid}
	}
	h.nodes = append(h.nodes, uuid)
	return nil
}

func (h *holding) releaseAll() {
	for _, uuid := range h.nodes {
		h.locks.release(uuid)
	}
	h.nodes = nil
}

// waitFor gives all up and waits for one.
func (h *holding) waitFor(ctx context.Context, uuid string) error {
	h.releaseAll()
	if err := h.locks.wait(ctx, uuid); err != nil {
		return err
	}
	h.nodes = append(h.nodes, uuid)
	return nil
}

// claim is called before a statement that locks the node's row.
func (tx *Tx) claim(uuid string) error { return tx.holding.claim(uuid) }
