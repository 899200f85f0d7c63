package store

import (
	"context"
	"errors"

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

// Conductors lists all, in the order in which they first came.
func (r reads) Conductors(ctx context.Context) ([]metal.Conductor, error) {
	list, err := conductors.list(ctx, r.c, "ORDER BY id")
	return list, failed(err, "list conductors")
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
	_, err := tx.c.exec(ctx, "DELETE FROM conductors WHERE hostname = ?", hostname)
	return failed(err, "delete conductor %s", hostname)
}
