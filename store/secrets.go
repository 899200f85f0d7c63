package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ferrule/metal"
)

// SecretRef is what is known of a secret beside its value.
type SecretRef struct {
	Ref       string
	Scope     string // tenant or fleet
	NodeUUID  string // the node it belongs to, and goes with; "" for none
	CreatedAt time.Time
	UpdatedAt time.Time
}

// SecretState is what a version of a secret is for.
type SecretState string

// The states of a version.
const (
	SecretCurrent SecretState = "current" // what is given out
	SecretPending SecretState = "pending" // a rotation's new value, not yet proved
	SecretFailed  SecretState = "failed"  // a rotation's new value that was not taken
)

// SealedSecret is one version of a secret. The store never sees it open. It is
// sealed under its Name, so that it opens nowhere else.
type SealedSecret struct {
	Ref       string
	Version   int64
	State     SecretState
	Sealed    []byte
	CreatedAt time.Time
}

// Name is what the version is sealed as.
func (s *SealedSecret) Name(sealedFor string) string {
	return metal.SecretName(s.Ref, s.Version, sealedFor)
}

var secretRefs = newTable("secret_refs", func(s *SecretRef) []field {
	return []field{
		fixed("ref", &s.Ref),
		col("scope", &s.Scope),
		col("node_uuid", nullEmpty{&s.NodeUUID}),
		fixed("created_at", instant{&s.CreatedAt}),
		col("updated_at", instant{&s.UpdatedAt}),
	}
})

var sealedSecrets = newTable("sealed_secrets", func(s *SealedSecret) []field {
	return []field{
		fixed("ref", &s.Ref),
		fixed("version", &s.Version),
		col("state", (*string)(&s.State)),
		col("sealed", sealed{&s.Sealed}),
		fixed("created_at", instant{&s.CreatedAt}),
	}
})

// SecretRef is what is known of a secret.
func (r reads) SecretRef(ctx context.Context, ref string) (SecretRef, error) {
	s, err := secretRefs.get(ctx, r.c, "WHERE ref = ?", ref)
	if errors.Is(err, errNoRow) {
		return s, secretNotFound(ref)
	}
	return s, failed(err, "read secret %s", ref)
}

// SecretRefs lists a node's secrets, or with "" those of all.
func (r reads) SecretRefs(ctx context.Context, nodeUUID string) ([]SecretRef, error) {
	if nodeUUID == "" {
		list, err := secretRefs.list(ctx, r.c, "ORDER BY ref")
		return list, failed(err, "list secrets")
	}
	list, err := secretRefs.list(ctx, r.c, "WHERE node_uuid = ? ORDER BY ref", nodeUUID)
	return list, failed(err, "list secrets of node %s", nodeUUID)
}

// SealedSecret is the current version.
func (r reads) SealedSecret(ctx context.Context, ref string) (SealedSecret, error) {
	return r.sealedSecret(ctx, ref, "WHERE ref = ? AND state = 'current'", ref)
}

// PendingSecret is the version that a rotation is to prove.
func (r reads) PendingSecret(ctx context.Context, ref string) (SealedSecret, error) {
	return r.sealedSecret(ctx, ref, "WHERE ref = ? AND state = 'pending'", ref)
}

// SecretVersion is one version, whatever its state.
func (r reads) SecretVersion(ctx context.Context, ref string, version int64) (SealedSecret, error) {
	return r.sealedSecret(ctx, ref, "WHERE ref = ? AND version = ?", ref, version)
}

func (r reads) sealedSecret(ctx context.Context, ref, tail string, args ...any) (SealedSecret, error) {
	s, err := sealedSecrets.get(ctx, r.c, tail, args...)
	if errors.Is(err, errNoRow) {
		return s, secretNotFound(ref)
	}
	return s, failed(err, "read secret %s", ref)
}

func secretNotFound(ref string) error {
	return metal.Errorf(metal.NotFound, "Secret %s could not be found.", ref)
}

// Seal seals a value as this version of a secret; see metal.SecretName. Only the
// store knows the version.
type Seal func(ref string, version int64) ([]byte, error)

// PutSecret makes what seal gives the current version; the one before is
// deleted. It sets ref's times.
func (tx *Tx) PutSecret(ctx context.Context, ref *SecretRef, seal Seal) (version int64, err error) {
	ref.CreatedAt, ref.UpdatedAt = tx.now(), tx.now()
	added, err := secretRefs.insert(ctx, tx.c, ref)
	if err != nil {
		return 0, failed(err, "put secret %s", ref.Ref)
	}
	version = 1
	if !added {
		if version, err = tx.retireSecret(ctx, ref); err != nil {
			return 0, failed(err, "put secret %s", ref.Ref)
		}
	}
	return version, tx.addSecretVersion(ctx, ref.Ref, version, SecretCurrent, seal)
}

// retireSecret forgets the current version of a secret that was there before,
// and gives the number of the next one.
func (tx *Tx) retireSecret(ctx context.Context, ref *SecretRef) (next int64, err error) {
	if _, err := secretRefs.update(ctx, tx.c, ref, " WHERE ref = ?", ref.Ref); err != nil {
		return 0, err
	}
	if next, err = tx.nextSecretVersion(ctx, ref.Ref); err != nil {
		return 0, err
	}
	return next, tx.forgetCurrent(ctx, ref.Ref)
}

// forgetCurrent deletes the current version. Its state is a literal, here and
// above: SQLite plans a statement anew at each run when an argument decides
// whether a partial index serves.
func (tx *Tx) forgetCurrent(ctx context.Context, ref string) error {
	_, err := tx.c.exec(ctx, "DELETE FROM sealed_secrets WHERE ref = ? AND state = 'current'", ref)
	return err
}

// PutPendingSecret stores the value that a rotation is to prove, beside the
// current one. There is one at most.
func (tx *Tx) PutPendingSecret(ctx context.Context, ref string, seal Seal) (version int64, err error) {
	if _, err := tx.SecretRef(ctx, ref); err != nil {
		return 0, err
	}
	if version, err = tx.nextSecretVersion(ctx, ref); err != nil {
		return 0, err
	}
	return version, tx.addSecretVersion(ctx, ref, version, SecretPending, seal)
}

func (tx *Tx) nextSecretVersion(ctx context.Context, ref string) (int64, error) {
	var version int64
	_, err := tx.c.scalar(ctx, &version, "SELECT coalesce(max(version), 0) + 1 FROM sealed_secrets WHERE ref = ?", ref)
	return version, failed(err, "number secret %s", ref)
}

func (tx *Tx) addSecretVersion(ctx context.Context, ref string, version int64, state SecretState, seal Seal) error {
	sealed, err := seal(ref, version)
	if err != nil {
		return fmt.Errorf("seal secret %s: %w", ref, err)
	}
	v := SealedSecret{Ref: ref, Version: version, State: state, Sealed: sealed, CreatedAt: tx.now()}
	added, err := sealedSecrets.insert(ctx, tx.c, &v)
	if err == nil && !added {
		return metal.Errorf(metal.Conflict, "Secret %s has a %s version already.", ref, state)
	}
	return failed(err, "put secret %s", ref)
}

// PromoteSecret makes the pending version the current one; the one before is
// forgotten.
func (tx *Tx) PromoteSecret(ctx context.Context, ref string, version int64) error {
	pending, err := tx.PendingSecret(ctx, ref)
	if err != nil {
		return err
	}
	if pending.Version != version {
		return metal.Errorf(metal.Conflict, "Version %d of secret %s is not the pending one.", version, ref)
	}
	if err := tx.forgetCurrent(ctx, ref); err != nil {
		return failed(err, "promote secret %s", ref)
	}
	return tx.setSecretState(ctx, ref, version, SecretCurrent)
}

// FailSecret marks the pending version as not taken; the current one stays.
func (tx *Tx) FailSecret(ctx context.Context, ref string, version int64) error {
	return tx.setSecretState(ctx, ref, version, SecretFailed)
}

func (tx *Tx) setSecretState(ctx context.Context, ref string, version int64, state SecretState) error {
	n, err := tx.c.exec(ctx, "UPDATE sealed_secrets SET state = ? WHERE ref = ? AND version = ? AND state = 'pending'",
		string(state), ref, version)
	if err == nil && n == 0 {
		return metal.Errorf(metal.Conflict, "Version %d of secret %s is not pending.", version, ref)
	}
	return failed(err, "mark secret %s", ref)
}

// DeleteSecret forgets a secret with all its versions; one that is not there is
// no error.
func (tx *Tx) DeleteSecret(ctx context.Context, ref string) error {
	_, err := tx.c.exec(ctx, "DELETE FROM secret_refs WHERE ref = ?", ref)
	return failed(err, "delete secret %s", ref)
}

// DeleteSecrets deletes the secrets at a place and below it.
func (tx *Tx) DeleteSecrets(ctx context.Context, place metal.SecretPlace) error {
	ref := strings.TrimSuffix(place.Ref(), "/")
	_, err := tx.c.exec(ctx, "DELETE FROM secret_refs WHERE ref = ? OR ref > ? AND ref < ?", ref, ref+"/", ref+string(rune('/'+1)))
	return failed(err, "delete secrets under %s", ref)
}
