package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"ferrule/metal"
)

var conductors = newTable("conductors", func(c *metal.Conductor) []field {
	return []field{
		fixed("id", &c.ID),
		fixed("hostname", &c.Hostname),
		col("conductor_group", &c.ConductorGroup),
		col("drivers", textList{&c.Drivers}),
		col("agent_id", &c.AgentID),
		col("online", &c.Online),
		fixed("created_at", instant{&c.CreatedAt}),
		col("updated_at", instant{&c.UpdatedAt}),
	}
})

// roster remembers the conductors: nearly every request asks who serves a node,
// and they change seldom. Every commit that changes them says so, here before
// Write returns, and on PostgreSQL to the other processes.
type roster struct {
	changed <-chan struct{}

	mu   sync.Mutex
	list []metal.Conductor
	read time.Time
}

// rosterAge is the net under announcements that get lost.
const rosterAge = time.Second

func newRoster(h *hub) *roster {
	changed, _ := h.subscribe(topicConductors) // for as long as the hub lasts
	return &roster{changed: changed}
}

// Conductors lists all, in the order in which they first came. The list is
// everybody's: it must not be changed.
func (s *Store) Conductors(ctx context.Context) ([]metal.Conductor, error) {
	r := s.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	now := s.now()
	select {
	case <-r.changed:
	default:
		if age := now.Sub(r.read); 0 <= age && age < rosterAge {
			return r.list, nil
		}
	}
	list, err := conductors.list(ctx, s.c, "ORDER BY id")
	if err != nil {
		r.read = time.Time{} // the change that was announced is not seen yet
		return nil, failed(err, "list conductors")
	}
	r.list, r.read = list, now
	return list, nil
}

// Conductor finds one by host name.
func (r reads) Conductor(ctx context.Context, hostname string) (metal.Conductor, error) {
	c, err := conductors.get(ctx, r.c, "WHERE hostname = ?", hostname)
	if errors.Is(err, errNoRow) {
		return c, metal.Errorf(metal.NotFound, "Conductor %s could not be found.", hostname)
	}
	return c, failed(err, "read conductor %s", hostname)
}

// UpsertConductor writes the conductor with a sign of life, and sets its ID and
// CreatedAt.
func (tx *Tx) UpsertConductor(ctx context.Context, c *metal.Conductor) error {
	tx.wake(topicConductors)
	c.ID, c.CreatedAt, c.UpdatedAt = tx.newID(), tx.now(), tx.now()
	added, err := conductors.insert(ctx, tx.c, c)
	if err != nil || added {
		return failed(err, "insert conductor %s", c.Hostname)
	}
	if _, err := conductors.update(ctx, tx.c, c, " WHERE hostname = ?", c.Hostname); err != nil {
		return failed(err, "update conductor %s", c.Hostname)
	}
	*c, err = tx.Conductor(ctx, c.Hostname)
	return err
}

// TouchConductor records a sign of life, or an orderly end.
func (tx *Tx) TouchConductor(ctx context.Context, hostname string, online bool) error {
	tx.wake(topicConductors)
	n, err := tx.c.exec(ctx, "UPDATE conductors SET online = ?, updated_at = ? WHERE hostname = ?",
		online, tx.now(), hostname)
	if err != nil {
		return failed(err, "touch conductor %s", hostname)
	}
	if n == 0 {
		return metal.Errorf(metal.NotFound, "Conductor %s could not be found.", hostname)
	}
	return nil
}

// DeleteConductor forgets a conductor; one that is not there is no error.
func (tx *Tx) DeleteConductor(ctx context.Context, hostname string) error {
	tx.wake(topicConductors)
	_, err := tx.c.exec(ctx, "DELETE FROM conductors WHERE hostname = ?", hostname)
	return failed(err, "delete conductor %s", hostname)
}
