package v1

import (
	"context"
	"fmt"
	"net/url"
	"strings"

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

// sealing moves the credentials of one object of a node to sealed secrets. The
// object keeps refs; a mask that a client writes back keeps the ref that was
// there.
type sealing struct {
	sealer   Sealer
	nodeUUID string
	field    string // driver_info or instance_info
	isSecret func(key string) bool
	old      any             // the object before, with refs
	kept     map[string]bool // refs that the new object holds
	changes  *secretChanges
}

// sealSecrets seals what a request put into driver_info and instance_info, and
// notes what it took out.
func (s *Service) sealSecrets(before, after *metal.Node) (*secretChanges, error) {
	changes := &secretChanges{nodeUUID: after.UUID, puts: map[string][]byte{}}
	fields := []struct {
		name     string
		old, now *metal.JSON
		isSecret func(key string) bool
	}{
		{"driver_info", &before.DriverInfo, &after.DriverInfo, metal.IsDriverInfoSecret},
		{"instance_info", &before.InstanceInfo, &after.InstanceInfo, metal.IsSecretKey},
	}
	for _, f := range fields {
		if *f.old == *f.now {
			continue
		}
		seal := &sealing{
			sealer: s.sealer, nodeUUID: after.UUID, field: f.name, isSecret: f.isSecret,
			old: f.old.Object(), kept: map[string]bool{}, changes: changes,
		}
		sealed, err := seal.walk(f.now.Object(), seal.old, nil, false)
		if err != nil {
			return nil, err
		}
		*f.now = metal.ToJSON(sealed)
		seal.dropOthers()
	}
	return changes, nil
}

// walk seals below v; old is what stood at the same place, secret whether the
// key above is one.
func (s *sealing) walk(v, old any, path []string, secret bool) (any, error) {
	switch t := v.(type) {
	case map[string]any:
		oldMap, _ := old.(map[string]any)
		for k, item := range t {
			sealed, err := s.walk(item, oldMap[k], append(path[:len(path):len(path)], k), s.isSecret(k))
			if err != nil {
				return nil, err
			}
			t[k] = sealed
		}
		return t, nil
	case []any:
		if secret {
			return s.leaf(v, old, path)
		}
		oldList, _ := old.([]any)
		for i, item := range t {
			var before any
			if i < len(oldList) {
				before = oldList[i]
			}
			sealed, err := s.walk(item, before, append(path[:len(path):len(path)], fmt.Sprint(i)), false)
			if err != nil {
				return nil, err
			}
			t[i] = sealed
		}
		return t, nil
	}
	if !secret {
		return v, nil
	}
	return s.leaf(v, old, path)
}

func (s *sealing) leaf(v, old any, path []string) (any, error) {
	if v == nil || v == "" {
		return v, nil
	}
	text, isText := v.(string)
	if !isText {
		text = string(metal.ToJSON(v))
	}
	if before, ok := old.(string); ok && metal.IsSecretRef(before) && (text == metal.Masked || text == before) {
		s.kept[before] = true
		return before, nil
	}
	if metal.IsSecretRef(text) {
		return text, s.checkRef(text)
	}
	ref := s.ref(path)
	sealed, err := s.sealer.Seal(ref, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("seal %s of node %s: %w", strings.Join(path, "/"), s.nodeUUID, err)
	}
	s.kept[ref] = true
	s.changes.puts[ref] = sealed
	return ref, nil
}

func (s *sealing) ref(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = url.PathEscape(p)
	}
	return metal.NodeSecretRef(s.nodeUUID, s.field+"/"+strings.Join(parts, "/"))
}

// checkRef refuses a ref that is another node's, or outside of what the
// environment lends: a ref is not a key to be borrowed.
func (s *sealing) checkRef(ref string) error {
	if own := metal.NodeSecretRef(s.nodeUUID, ""); strings.HasPrefix(ref, own) {
		s.kept[ref] = true
		return nil
	}
	if strings.HasPrefix(ref, "secret://tenant/nodes/") {
		return metal.Errorf(metal.Forbidden, "The secret %s belongs to another node.", ref)
	}
	if name, ok := strings.CutPrefix(ref, "env://"); ok && !strings.HasPrefix(name, "FERRULE_SECRET_") {
		return metal.Errorf(metal.Forbidden, "The secret %s is not to be used: names of env:// begin with FERRULE_SECRET_.", ref)
	}
	return nil
}

// dropOthers notes the node's own secrets that the old object held and the new
// one does not.
func (s *sealing) dropOthers() {
	own := metal.NodeSecretRef(s.nodeUUID, "")
	for _, ref := range refsIn(s.old, nil) {
		if strings.HasPrefix(ref, own) && !s.kept[ref] {
			s.changes.drops = append(s.changes.drops, ref)
		}
	}
}

func refsIn(v any, refs []string) []string {
	switch t := v.(type) {
	case map[string]any:
		for _, item := range t {
			refs = refsIn(item, refs)
		}
	case []any:
		for _, item := range t {
			refs = refsIn(item, refs)
		}
	case string:
		if metal.IsSecretRef(t) {
			refs = append(refs, t)
		}
	}
	return refs
}
