package store

import (
	"context"
	"errors"
	"time"

	"ferrule/metal"
)

// KeepAnswers is how long an answer is there for the same request again.
const KeepAnswers = 24 * time.Hour

// Bounds of what is kept of one caller.
const (
	MostAnswers   = 10_000    // the newest
	LongestAnswer = 256 << 10 // of a longer one it is only kept that it was given
)

// KeptAnswer is what was answered to a request that may come again.
type KeptAnswer struct {
	ID        string
	Sealed    []byte
	CreatedAt time.Time
}

var keptAnswers = newTable("kept_answers", func(a *KeptAnswer) []field {
	return []field{
		fixed("id", &a.ID),
		col("sealed", sealed{&a.Sealed}),
		fixed("created_at", instant{&a.CreatedAt}),
	}
})

// KeptAnswer reads one; who expects none may ask the reason metal.NotFound.
func (r reads) KeptAnswer(ctx context.Context, id string) (KeptAnswer, error) {
	a, err := keptAnswers.get(ctx, r.c, "WHERE id = ?", id)
	if errors.Is(err, errNoRow) {
		return a, metal.Errorf(metal.NotFound, "There is no answer %s.", id)
	}
	return a, failed(err, "read answer %s", id)
}

// AddKeptAnswer adds an answer and sets its time; false where there is one
// already. Where another transaction is about to add it, this waits for its end.
func (tx *Tx) AddKeptAnswer(ctx context.Context, a *KeptAnswer) (bool, error) {
	a.CreatedAt = tx.now()
	added, err := keptAnswers.insert(ctx, tx.c, a)
	return added, failed(err, "add answer %s", a.ID)
}

// SetKeptAnswer changes what is kept.
func (tx *Tx) SetKeptAnswer(ctx context.Context, a *KeptAnswer) error {
	_, err := keptAnswers.update(ctx, tx.c, a, " WHERE id = ?", a.ID)
	return failed(err, "keep answer %s", a.ID)
}

// DropKeptAnswer forgets one.
func (tx *Tx) DropKeptAnswer(ctx context.Context, id string) error {
	_, err := tx.c.exec(ctx, "DELETE FROM kept_answers WHERE id = ?", id)
	return failed(err, "forget answer %s", id)
}

// DropKeptAnswers forgets those from before a time, at most so many of them.
func (tx *Tx) DropKeptAnswers(ctx context.Context, before time.Time, most int) (int64, error) {
	n, err := tx.c.exec(ctx, "DELETE FROM kept_answers WHERE id IN (SELECT id FROM kept_answers WHERE created_at < ? LIMIT ?)", before, most)
	return n, failed(err, "forget answers")
}

// DropOlderAnswers forgets all but the newest answers of those whose ids begin
// with prefix, and tells how many went.
func (tx *Tx) DropOlderAnswers(ctx context.Context, prefix string, keep int) (int64, error) {
	const of = "id >= ? AND id < ?"
	end := prefix + "~" // after every id, which is made of hexadecimal digits
	n, err := tx.c.exec(ctx, "DELETE FROM kept_answers WHERE "+of+" AND created_at <= (SELECT created_at FROM kept_answers WHERE "+of+
		" ORDER BY created_at DESC LIMIT 1 OFFSET ?)", prefix, end, prefix, end, keep)
	return n, failed(err, "forget older answers")
}
