package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Topic names what a commit may have made ready.
type Topic string

// TopicJobs is woken when a job can be fetched (SQLite; on PostgreSQL the job
// queue tells its workers itself).
const TopicJobs Topic = "jobs"

// topicConductors is woken when a conductor came, went or gave a sign of life.
const topicConductors Topic = "conductors"

// AgentTopic is woken when a command for the agent was committed.
func AgentTopic(agentID string) Topic { return Topic("agent/" + agentID) }

// CommandTopic is woken when the command's result was committed.
func CommandTopic(commandID string) Topic { return Topic("command/" + commandID) }

// channel is the name under which PostgreSQL passes topics between processes.
const channel = "ferrule_wake"

// hub tells the process's own waiters.
type hub struct {
	mu      sync.Mutex
	waiters map[Topic]map[chan struct{}]struct{}
}

func newHub() *hub { return &hub{waiters: map[Topic]map[chan struct{}]struct{}{}} }

// Subscribe gives a channel that holds one wake at most: many wakes between two
// looks are one. Who subscribes looks at the database once afterwards, for what
// came before. cancel must be called.
func (s *Store) Subscribe(topic Topic) (wakes <-chan struct{}, cancel func()) {
	return s.hub.subscribe(topic)
}

func (h *hub) subscribe(topic Topic) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiters[topic] == nil {
		h.waiters[topic] = map[chan struct{}]struct{}{}
	}
	h.waiters[topic][ch] = struct{}{}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiters[topic], ch)
		if len(h.waiters[topic]) == 0 {
			delete(h.waiters, topic)
		}
	}
}

func (h *hub) wake(topics ...Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		for ch := range h.waiters[t] {
			nudge(ch)
		}
	}
}

func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, waiters := range h.waiters {
		for ch := range waiters {
			nudge(ch)
		}
	}
}

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// wake notes what to tell after the commit.
func (tx *Tx) wake(t Topic) { tx.wakes = append(tx.wakes, t) }

// announce gives the wakes to the other processes, with the commit.
func (tx *Tx) announce(ctx context.Context) error {
	for _, t := range tx.wakes {
		if t == TopicJobs {
			continue
		}
		if _, err := tx.c.exec(ctx, "SELECT pg_notify(?, ?)", channel, string(t)); err != nil {
			return fmt.Errorf("announce %s: %w", t, err)
		}
	}
	return nil
}

// listen passes on what other processes announce, until ctx ends.
func (s *Store) listen(ctx context.Context) {
	waits := reachWaits()
	for ctx.Err() == nil {
		err := s.listenOnce(ctx, waits.Reset)
		if ctx.Err() != nil {
			return
		}
		s.logger.Log(ctx, s.db.outages.level(err, slog.LevelWarn),
			"lost the connection that tells of changes; polling until it is back", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(waits.NextBackOff()):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, listening func()) error {
	c, err := s.db.pools.read.Acquire(ctx)
	if err != nil {
		return err
	}
	listener := c.Hijack()
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := listener.Close(end); err != nil {
			s.logger.DebugContext(ctx, "close the listening connection", "error", err)
		}
	}()
	if _, err := listener.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	listening()
	s.hub.wakeAll() // for what was said while nobody listened
	for {
		n, err := listener.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		s.hub.wake(Topic(n.Payload))
	}
}
