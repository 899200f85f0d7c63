package store

import (
	"context"
	"errors"
	"time"

	"ferrule/metal"
)

// JoinCode is the right to join a site, once. Of its secret only the hash is
// kept.
type JoinCode struct {
	ID         string
	SecretHash string
	Site       string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	UsedAt     *time.Time
	KeyHash    string // of the key that was certified for it
	AgentID    string // the agent made by it
}

var joinCodes = newTable("join_codes", func(j *JoinCode) []field {
	return []field{
		fixed("id", &j.ID),
		fixed("secret_hash", &j.SecretHash),
		fixed("site", &j.Site),
		fixed("created_at", instant{&j.CreatedAt}),
		fixed("expires_at", instant{&j.ExpiresAt}),
		col("used_at", optTime{&j.UsedAt}),
		col("key_hash", &j.KeyHash),
		col("agent_id", &j.AgentID),
	}
})

// JoinCodes lists all, oldest first.
func (r reads) JoinCodes(ctx context.Context) ([]JoinCode, error) {
	list, err := joinCodes.list(ctx, r.c, "ORDER BY created_at, id")
	return list, failed(err, "list join codes")
}

// InsertJoinCode adds a code and sets CreatedAt.
func (tx *Tx) InsertJoinCode(ctx context.Context, j *JoinCode) error {
	j.CreatedAt = tx.now()
	added, err := joinCodes.insert(ctx, tx.c, j)
	if err == nil && !added {
		return metal.Errorf(metal.Conflict, "A join code with ID %s already exists.", j.ID)
	}
	return failed(err, "insert join code %s", j.ID)
}

// DeleteJoinCode takes a code back; one that is not there is no error.
func (tx *Tx) DeleteJoinCode(ctx context.Context, id string) error {
	_, err := tx.c.exec(ctx, "DELETE FROM join_codes WHERE id = ?", id)
	return failed(err, "delete join code %s", id)
}

// Join spends the code with this hash and adds the agent, whose Site becomes
// the code's. The same key may come again, where the answer was lost: it gets
// the agent that it was given. Everybody else is refused with Forbidden.
func (tx *Tx) Join(ctx context.Context, secretHash, keyHash string, a *Agent) error {
	refused := metal.Errorf(metal.Forbidden, "The join code is not valid: it is unknown, expired or used. Ask for a new one.")
	j, err := joinCodes.get(ctx, tx.c, "WHERE secret_hash = ?"+tx.c.lock, secretHash)
	if errors.Is(err, errNoRow) {
		return refused
	}
	if err != nil {
		return failed(err, "read a join code")
	}
	now := tx.now()
	switch {
	case j.UsedAt != nil && j.KeyHash == keyHash:
		known, err := tx.Agent(ctx, j.AgentID)
		if err != nil || known.RevokedAt != nil {
			return refused
		}
		*a = known
		return nil
	case j.UsedAt != nil || now.After(j.ExpiresAt):
		return refused
	}
	a.Site = j.Site
	if err := tx.InsertAgent(ctx, a); err != nil {
		return err
	}
	j.UsedAt, j.KeyHash, j.AgentID = &now, keyHash, a.ID
	_, err = joinCodes.update(ctx, tx.c, &j, " WHERE id = ?", j.ID)
	return failed(err, "spend join code %s", j.ID)
}

type trustKey struct {
	Name      string
	Private   []byte
	Public    []byte
	CreatedAt time.Time
}

var trustKeys = newTable("trust_keys", func(k *trustKey) []field {
	return []field{
		fixed("name", &k.Name),
		fixed("sealed_private", sealed{&k.Private}),
		fixed("public", sealed{&k.Public}),
		col("created_at", instant{&k.CreatedAt}),
	}
})

// TrustKey is the key under name; both halves are empty where there is none.
func (s *Store) TrustKey(ctx context.Context, name string) (sealed, public []byte, err error) {
	k, err := trustKeys.get(ctx, s.c, "WHERE name = ?", name)
	if errors.Is(err, errNoRow) {
		return nil, nil, nil
	}
	return k.Private, k.Public, failed(err, "read key %s", name)
}

// PutTrustKey stores a new key. One that is there already stays as it is, and
// that is no error: several processes may start for the first time at once.
func (s *Store) PutTrustKey(ctx context.Context, name string, sealed, public []byte) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := trustKeys.insert(ctx, tx.c,
			&trustKey{Name: name, Private: sealed, Public: public, CreatedAt: tx.now()})
		return failed(err, "store key %s", name)
	})
}

// UseRequestID marks an agent's request for a secret as answered, to be
// remembered until then, and reports whether it was new.
func (s *Store) UseRequestID(ctx context.Context, agentID, requestID string, until time.Time) (fresh bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.c.exec(ctx, "DELETE FROM secret_requests WHERE until < ?", tx.now()); err != nil {
			return failed(err, "forget old requests for secrets")
		}
		n, err := tx.c.exec(ctx, "INSERT INTO secret_requests (agent_id, request_id, until) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			agentID, requestID, until)
		fresh = n == 1
		return failed(err, "remember a request for a secret")
	})
	return fresh, err
}
