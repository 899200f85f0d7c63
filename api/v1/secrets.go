package v1

import (
	"context"
	"fmt"

	"ferrule/metal"
	"ferrule/store"
)

// secretChanges are the secrets that a request puts and drops. They are written
// after the node's row, which they belong to, in the same transaction; the row
// never holds a credential, not even for a moment.
type secretChanges struct {
	nodeUUID string
	puts     map[string][]byte // ref to sealed value
	drops    []string
}

// write stores the changes.
func (ch *secretChanges) write(ctx context.Context, tx *store.Tx) error {
	for _, ref := range ch.drops {
		if err := tx.DeleteSecret(ctx, ref); err != nil {
			return err
		}
	}
	for ref, sealed := range ch.puts {
		if err := putSecret(ctx, tx, ch.nodeUUID, ref, sealed); err != nil {
			return err
		}
	}
	return nil
}

func putSecret(ctx context.Context, tx *store.Tx, nodeUUID, ref string, sealed []byte) error {
	_, err := tx.PutSecret(ctx, &store.SecretRef{Ref: ref, Scope: "tenant", NodeUUID: nodeUUID}, sealed)
	return err
}

// seal takes what was moved out of an object.
func (ch *secretChanges) seal(sealer Sealer, s *metal.Sealing) error {
	for ref, text := range s.Puts {
		sealed, err := sealer.Seal(ref, []byte(text))
		if err != nil {
			return fmt.Errorf("seal %s: %w", ref, err)
		}
		ch.puts[ref] = sealed
	}
	ch.drops = append(ch.drops, s.Drops...)
	return nil
}

// sealSecrets seals what a request put into driver_info and instance_info, and
// notes what it took out.
func (s *Service) sealSecrets(before, after *metal.Node) (*secretChanges, error) {
	changes := &secretChanges{nodeUUID: after.UUID, puts: map[string][]byte{}}
	moved, err := metal.SealNode(before, after)
	if err != nil {
		return nil, err
	}
	for _, m := range moved {
		if err := changes.seal(s.sealer, m); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// openSecrets puts values in the place of those refs below v that are kept here
// and wanted.
func (s *Service) openSecrets(ctx context.Context, tx *store.Tx, v any, wanted func(ref string) bool) (any, error) {
	return metal.ReplaceRefs(v, func(ref string) (any, error) {
		if !wanted(ref) {
			return ref, nil
		}
		sealed, err := tx.SealedSecret(ctx, ref)
		if metal.ReasonOf(err) == metal.NotFound {
			return ref, nil // kept elsewhere
		}
		if err != nil {
			return nil, err
		}
		plain, err := s.sealer.Open(ref, sealed.Sealed)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", ref, err)
		}
		return metal.SecretValue(ref, string(plain)), nil
	})
}
