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
		col("through", &c.Through),
		col("online", &c.Online),
		fixed("created_at", instant{&c.CreatedAt}),
		col("updated_at", instant{&c.UpdatedAt}),
	}
})

// roster remembers the conductors: nearly every request asks who serves a node,
// and they change seldom. Every commit that changes them says so, here before
// Write returns, and on PostgreSQL to the other processes.
type roster struct {
	announced <-chan struct{}

	mu      sync.Mutex
	changes int // seen so far
	list    []metal.Conductor
	read    time.Time // when the list was; zero: it is out of date
}

// rosterAge is the net under announcements that get lost.
const rosterAge = time.Second

func newRoster(h *hub) *roster {
	announced, _ := h.subscribe(topicConductors) // for as long as the hub lasts
	return &roster{announced: announced}
}

// Conductors lists all, in the order in which they first came. The list is
// everybody's: it must not be changed.
func (s *Store) Conductors(ctx context.Context) ([]metal.Conductor, error) {
	return s.roster.conductors(ctx, s.c, s.now())
}

// Conductors is as the store's.
func (tx *Tx) Conductors(ctx context.Context) ([]metal.Conductor, error) {
	return tx.store.roster.conductors(ctx, tx.c, tx.now())
}

func (r *roster) conductors(ctx context.Context, c conn, now time.Time) ([]metal.Conductor, error) {
	list, changes, ok := r.remembered(now)
	if ok {
		return list, nil
	}
	list, err := conductorsNow(ctx, c)
	if err == nil {
		r.remember(list, changes, now)
	}
	return list, err
}

// ConductorsNow is as Conductors, but nothing that was committed is missing.
func (tx *Tx) ConductorsNow(ctx context.Context) ([]metal.Conductor, error) {
	return conductorsNow(ctx, tx.c)
}

func conductorsNow(ctx context.Context, c conn) ([]metal.Conductor, error) {
	list, err := conductors.list(ctx, c, "ORDER BY id")
	aliveThrough(list)
	return list, failed(err, "list conductors")
}

// aliveThrough gives each agent with a session the last sign of life of the process
// that holds it. Agents give none of their own: the roster is written when
// something changes.
func aliveThrough(list []metal.Conductor) {
	signs := map[string]time.Time{}
	for _, c := range list {
		if c.AgentID == "" {
			signs[c.Hostname] = c.UpdatedAt
		}
	}
	for i := range list {
		if sign := signs[list[i].Through]; list[i].Online && sign.After(list[i].UpdatedAt) {
			list[i].UpdatedAt = sign
		}
	}
}

// remembered is the list where it is up to date, and else which change it has
// to be read after.
func (r *roster) remembered(now time.Time) (list []metal.Conductor, changes int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.announced:
		r.changes++
		r.read = time.Time{}
	default:
	}
	age := now.Sub(r.read)
	return r.list, r.changes, 0 <= age && age < rosterAge
}

// remember keeps a list, unless there was a change while it was read.
func (r *roster) remember(list []metal.Conductor, changes int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if changes == r.changes {
		r.list, r.read = list, now
	}
}

// Conductor finds one by host name.
func (r reads) Conductor(ctx context.Context, hostname string) (metal.Conductor, error) {
	c, err := conductors.get(ctx, r.c, "WHERE hostname = ?", hostname)
	switch {
	case errors.Is(err, errNoRow):
		return c, metal.Errorf(metal.NotFound, "Conductor %s could not be found.", hostname)
	case err != nil:
		return c, failed(err, "read conductor %s", hostname)
	case c.Through == "":
		return c, nil
	}
	list, err := conductors.list(ctx, r.c, "WHERE hostname = ? OR hostname = ?", hostname, c.Through)
	aliveThrough(list)
	for _, found := range list {
		if found.Hostname == hostname {
			c = found
		}
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

// LeaveThrough ends what a process before this one of the same host name held:
// the agents' last sign of life is its own, until they open a session again.
func (tx *Tx) LeaveThrough(ctx context.Context, hostname string, seen time.Time) error {
	tx.wake(topicConductors)
	_, err := tx.c.exec(ctx, "UPDATE conductors SET through = '', updated_at = ? WHERE through = ? AND updated_at < ?", seen, hostname, seen)
	if err == nil {
		_, err = tx.c.exec(ctx, "UPDATE conductors SET through = '' WHERE through = ?", hostname)
	}
	return failed(err, "leave the sessions of %s", hostname)
}

// DeleteConductor forgets a conductor; one that is not there is no error.
func (tx *Tx) DeleteConductor(ctx context.Context, hostname string) error {
	tx.wake(topicConductors)
	_, err := tx.c.exec(ctx, "DELETE FROM conductors WHERE hostname = ?", hostname)
	return failed(err, "delete conductor %s", hostname)
}
