package v1

import (
	"context"
	"fmt"
	"maps"

	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// secretChanges are the secrets that a request puts and drops. They are written
// after the node's row, which they belong to, in the same transaction; the row
// never holds a credential, not even for a moment.
type secretChanges struct {
	nodeUUID string
	puts     map[string]string // ref to value
	drops    []string
	node     *metal.Node // for what the secrets of a BMC are sealed; nil for what has none
}

func changesOf(nodeUUID string, moved ...*metal.Sealing) *secretChanges {
	ch := &secretChanges{nodeUUID: nodeUUID, puts: map[string]string{}}
	for _, m := range moved {
		maps.Copy(ch.puts, m.Puts)
		ch.drops = append(ch.drops, m.Drops...)
	}
	return ch
}

// writeSecrets seals and stores the changes.
func (s *Service) writeSecrets(ctx context.Context, tx *store.Tx, ch *secretChanges) error {
	for _, ref := range ch.drops {
		if err := tx.DeleteSecret(ctx, ref); err != nil {
			return err
		}
	}
	for ref, value := range ch.puts {
		sealedFor := ""
		if ch.node != nil {
			sealedFor = hardware.SealedFor(ch.node, ref)
		}
		if err := s.putSecret(ctx, tx, ch.nodeUUID, ref, value, sealedFor); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) putSecret(ctx context.Context, tx *store.Tx, nodeUUID, ref, value, sealedFor string) error {
	_, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant", NodeUUID: nodeUUID}, func(ref string, version int64) ([]byte, error) {
		return s.sealer.Seal(metal.SecretName(ref, version, sealedFor), []byte(value))
	})
	return err
}

// sealSecrets moves what a request put into driver_info and instance_info to
// secrets, and notes what it took out.
func (s *Service) sealSecrets(before, after *metal.Node) (*secretChanges, error) {
	if err := metal.RefusePasswordInAddress(before.DriverInfo, after.DriverInfo); err != nil {
		return nil, err
	}
	moved, err := metal.SealNode(before, after)
	if err != nil {
		return nil, err
	}
	changes := changesOf(after.UUID, moved...)
	changes.node = after
	return changes, nil
}

// secretReader reads secrets, in a transaction or outside of one.
type secretReader interface {
	SealedSecret(ctx context.Context, ref string) (store.SealedSecret, error)
}

// openSecret is the secret under ref in clear.
func (s *Service) openSecret(ctx context.Context, from secretReader, ref, sealedFor string) (string, error) {
	sealed, err := from.SealedSecret(ctx, ref)
	if err != nil {
		return "", err
	}
	plain, err := s.sealer.Open(sealed.Name(sealedFor), sealed.Sealed)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", ref, err)
	}
	return string(plain), nil
}

// openSecrets puts values in the place of the refs below v that are of secrets
// at place.
func (s *Service) openSecrets(ctx context.Context, tx *store.Tx, v any, place metal.SecretPlace) (any, error) {
	return metal.ReplaceRefs(v, func(ref string) (any, error) {
		if !place.Holds(ref) {
			return nil, metal.Errorf(metal.Invalid, "The database was changed from outside: a reference to a secret of something else stands in place of one. Write the value again.")
		}
		plain, err := s.openSecret(ctx, tx, ref, "")
		return metal.SecretValue(ref, plain), err
	})
}
