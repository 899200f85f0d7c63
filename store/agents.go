package store

import (
	"context"
	"errors"
	"time"

	"ferrule/metal"
)

// Site is a location with its own management network; its name is the
// conductor group of its nodes.
type Site struct {
	Name      string
	Labels    metal.JSON
	CreatedAt time.Time
}

var sites = newTable("sites", func(s *Site) []field {
	return []field{
		fixed("name", &s.Name),
		col("labels", (*string)(&s.Labels)),
		fixed("created_at", instant{&s.CreatedAt}),
	}
})

// Sites lists all by name.
func (r reads) Sites(ctx context.Context) ([]Site, error) {
	list, err := sites.list(ctx, r.c, "ORDER BY name")
	return list, failed(err, "list sites")
}

// PutSite adds a site, or sets the labels of one that is there.
func (tx *Tx) PutSite(ctx context.Context, s *Site) error {
	s.CreatedAt = tx.now()
	if s.Labels == "" {
		s.Labels = metal.EmptyObject
	}
	added, err := sites.insert(ctx, tx.c, s)
	if err == nil && !added {
		_, err = sites.update(ctx, tx.c, s, " WHERE name = ?", s.Name)
	}
	return failed(err, "put site %s", s.Name)
}

// DeleteSite forgets a site; one that is not there is no error.
func (tx *Tx) DeleteSite(ctx context.Context, name string) error {
	_, err := tx.c.exec(ctx, "DELETE FROM sites WHERE name = ?", name)
	return failed(err, "delete site %s", name)
}

// Agent is a site's daemon that has joined.
type Agent struct {
	ID            string
	Site          string
	Hostname      string
	Software      string     // its version
	Labels        metal.JSON // object
	HardwareTypes []string
	Operations    metal.JSON // object: driver → operations
	SessionID     string     // "" while off line
	CreatedAt     time.Time
	LastSeenAt    *time.Time
	RevokedAt     *time.Time
}

var agents = newTable("agents", func(a *Agent) []field {
	return []field{
		fixed("id", &a.ID),
		fixed("site", &a.Site),
		col("hostname", &a.Hostname),
		col("software", &a.Software),
		col("labels", (*string)(&a.Labels)),
		col("hardware_types", textList{&a.HardwareTypes}),
		col("operations", (*string)(&a.Operations)),
		col("session_id", &a.SessionID),
		fixed("created_at", instant{&a.CreatedAt}),
		col("last_seen_at", optTime{&a.LastSeenAt}),
		col("revoked_at", optTime{&a.RevokedAt}),
	}
})

// Agent finds an agent, revoked ones too.
func (r reads) Agent(ctx context.Context, id string) (Agent, error) {
	a, err := agents.get(ctx, r.c, "WHERE id = ?", id)
	if errors.Is(err, errNoRow) {
		return a, agentNotFound(id)
	}
	return a, failed(err, "read agent %s", id)
}

func agentNotFound(id string) error {
	return metal.Errorf(metal.NotFound, "Agent %s could not be found.", id)
}

// Agents lists all, oldest first.
func (r reads) Agents(ctx context.Context) ([]Agent, error) {
	list, err := agents.list(ctx, r.c, "ORDER BY created_at, id")
	return list, failed(err, "list agents")
}

// AgentsOf lists a site's agents that are not revoked, those on line first.
func (r reads) AgentsOf(ctx context.Context, site string) ([]Agent, error) {
	list, err := agents.list(ctx, r.c,
		"WHERE site = ? AND revoked_at IS NULL ORDER BY session_id = '', created_at, id", site)
	return list, failed(err, "list agents of site %s", site)
}

// InsertAgent adds an agent and sets CreatedAt.
func (tx *Tx) InsertAgent(ctx context.Context, a *Agent) error {
	a.CreatedAt = tx.now()
	added, err := agents.insert(ctx, tx.c, a)
	if err == nil && !added {
		return metal.Errorf(metal.Conflict, "An agent with ID %s already exists.", a.ID)
	}
	return failed(err, "insert agent %s", a.ID)
}

// UpdateAgent writes all but ID, Site and CreatedAt.
func (tx *Tx) UpdateAgent(ctx context.Context, a *Agent) error {
	n, err := agents.update(ctx, tx.c, a, " WHERE id = ?", a.ID)
	if err == nil && n == 0 {
		return agentNotFound(a.ID)
	}
	return failed(err, "update agent %s", a.ID)
}

// EndSession takes the agent off line, and reports whether it did: it does not
// where the agent has another session by now.
func (tx *Tx) EndSession(ctx context.Context, id, sessionID string) (bool, error) {
	n, err := tx.c.exec(ctx, "UPDATE agents SET session_id = '', last_seen_at = ? WHERE id = ? AND session_id = ?",
		tx.now(), id, sessionID)
	return n == 1, failed(err, "end session of agent %s", id)
}

// RevokeAgent ends an agent for good: none of its keys is in force any
// more. Its stream is woken to see it.
func (tx *Tx) RevokeAgent(ctx context.Context, id string) error {
	n, err := tx.c.exec(ctx, "UPDATE agents SET revoked_at = ?, session_id = '' WHERE id = ?", tx.now(), id)
	if err == nil && n == 0 {
		return agentNotFound(id)
	}
	if err == nil {
		_, err = tx.c.exec(ctx, "DELETE FROM agent_keys WHERE agent_id = ?", id)
	}
	tx.wake(AgentTopic(id))
	return failed(err, "revoke agent %s", id)
}

type agentKey struct {
	ID        int64
	AgentID   string
	KeyHash   string
	CreatedAt time.Time
}

var agentKeys = newTable("agent_keys", func(k *agentKey) []field {
	return []field{
		fixed("id", &k.ID),
		fixed("agent_id", &k.AgentID),
		fixed("key_hash", &k.KeyHash),
		col("created_at", instant{&k.CreatedAt}),
	}
})

// Keys lists the hashes of the agent's keys in force, oldest first.
func (r reads) Keys(ctx context.Context, agentID string) ([]string, error) {
	list, err := agentKeys.list(ctx, r.c, "WHERE agent_id = ? ORDER BY id", agentID)
	keys := make([]string, len(list))
	for i, c := range list {
		keys[i] = c.KeyHash
	}
	return keys, failed(err, "list keys of agent %s", agentID)
}

// AddKey puts another key in force beside those that are.
func (tx *Tx) AddKey(ctx context.Context, agentID, keyHash string) error {
	if _, err := tx.Agent(ctx, agentID); err != nil {
		return err
	}
	_, err := agentKeys.insert(ctx, tx.c,
		&agentKey{ID: tx.newID(), AgentID: agentID, KeyHash: keyHash, CreatedAt: tx.now()})
	return failed(err, "add key of agent %s", agentID)
}

// RetireKeysBefore ends the keys that were added before this one.
func (tx *Tx) RetireKeysBefore(ctx context.Context, agentID, keyHash string) error {
	_, err := tx.c.exec(ctx, `DELETE FROM agent_keys WHERE agent_id = ? AND id <
		(SELECT id FROM agent_keys WHERE agent_id = ? AND key_hash = ?)`, agentID, agentID, keyHash)
	return failed(err, "retire keys of agent %s", agentID)
}
