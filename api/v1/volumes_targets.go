package v1

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// targets is the resource of volume targets (Ironic:
// controllers/v1/volume_target).
var targets = newResource(resource[metal.VolumeTarget]{
	registry: openapi.VolumeTargetFields, noun: "target", enum: true, path: "volume/targets", key: "targets",
	required: []string{"boot_index", "node_uuid", "volume_id", "volume_type"},
	listed:   []string{"uuid", "node_uuid", "volume_type", "boot_index", "volume_id"},
	uuid:     targetUUID,
	fields: map[string]property[metal.VolumeTarget]{
		"uuid":        uuidProperty(func(v *metal.VolumeTarget) *string { return &v.UUID }),
		"node_uuid":   nodeProperty(func(v *metal.VolumeTarget) *string { return &v.NodeUUID }),
		"volume_type": wordProperty("volume_type", func(v *metal.VolumeTarget) *string { return &v.VolumeType }),
		"volume_id":   wordProperty("volume_id", func(v *metal.VolumeTarget) *string { return &v.VolumeID }),
		"boot_index":  integerProperty("boot_index", func(v *metal.VolumeTarget) *int64 { return &v.BootIndex }),
		"properties":  targetProperties(),
		"extra":       objectProperty("extra", func(v *metal.VolumeTarget) *metal.JSON { return &v.Extra }),
		"created_at":  timeProperty(func(v *metal.VolumeTarget) *time.Time { return &v.CreatedAt }),
		"updated_at":  optionalTimeProperty(func(v *metal.VolumeTarget) **time.Time { return &v.UpdatedAt }),
		"links":       linksProperty(targetUUID, "volume/targets"),
	},
})

func targetUUID(v *metal.VolumeTarget) string { return v.UUID }

// redactedProperties stands where the sender may not see how to reach a volume.
const redactedProperties = `{"redacted_contents":"** Value redacted: Requires permission baremetal:volume:view_target_properties access. Permission denied. **"}`

func targetProperties() property[metal.VolumeTarget] {
	p := objectProperty("properties", func(v *metal.VolumeTarget) *metal.JSON { return &v.Properties })
	p.show = func(b []byte, v *metal.VolumeTarget, e *encoding) []byte {
		if e.rights != nil && !e.rights.allows("baremetal:volume:view_target_properties", nil) {
			return append(b, redactedProperties...)
		}
		return appendMasked(b, v.Properties)
	}
	set := p.set
	p.set = func(v *metal.VolumeTarget, value any) error {
		if _, ok := value.(map[string]any); !ok && truthy(value) {
			value = metal.Masked // it may be one of the credentials that belong inside
		}
		return set(v, value)
	}
	return p
}

// integerProperty is a whole number.
func integerProperty[T any](name string, at func(v *T) *int64) property[T] {
	return property[T]{
		show: func(b []byte, v *T, _ *encoding) []byte { return strconv.AppendInt(b, *at(v), 10) },
		get:  func(v *T) any { return json.Number(strconv.FormatInt(*at(v), 10)) },
		set: func(v *T, value any) error {
			n, err := wholeNumber(value)
			if err == nil {
				*at(v) = n
			}
			return err
		},
	}
}

// wholeNumber reads an integer as JSON schema has it: 1.0 is one.
func wholeNumber(value any) (int64, error) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, wrongType(value, "integer")
	}
	if n, err := number.Int64(); err == nil {
		return n, nil
	}
	f, err := number.Float64()
	switch {
	case err != nil || math.Abs(f) >= 1<<63:
		return 0, violates("%s is out of range", shown(value))
	case f != math.Trunc(f):
		return 0, wrongType(value, "integer")
	}
	return int64(f), nil
}

func (s *Service) listTargets(c *call) error { return s.targetList(c, targets.path, false) }

func (s *Service) listNodeTargets(c *call) error {
	return s.targetList(c, "nodes/"+c.Param("node")+"/"+targets.path, true)
}

func (s *Service) targetList(c *call, collection string, under bool) error {
	l, err := targets.list(s, c, collection, false)
	if err != nil {
		return err
	}
	q, err := s.volumeQuery(c, l, under)
	if err != nil {
		return err
	}
	page, err := s.store.VolumeTargets(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return targets.answerList(c, l, page)
}

// target finds the target that the path names; it has no name.
func (s *Service) target(c *call) (metal.VolumeTarget, error) {
	uuid, err := c.uuidOf("target")
	if err != nil {
		return metal.VolumeTarget{}, err
	}
	v, err := s.store.VolumeTarget(c.Request().Context(), uuid)
	if err != nil {
		return v, err
	}
	return v, s.authorizePart(c, v.NodeUUID, "Volume target", uuid)
}

func (s *Service) getTarget(c *call) error {
	v, err := s.target(c)
	if err != nil {
		return err
	}
	return targets.answerOne(c, &v)
}

func (s *Service) createTarget(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	v := &metal.VolumeTarget{Properties: metal.EmptyObject}
	if err := targets.read(v, body); err != nil {
		return err
	}
	if err := s.checkPartNode(c, v.NodeUUID); err != nil {
		return err
	}
	v.UUID = filledIn(v.UUID)
	secrets, err := sealTarget(&metal.VolumeTarget{NodeUUID: v.NodeUUID}, v)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.InsertVolumeTarget(ctx, v); err != nil {
			return err
		}
		return s.writeSecrets(ctx, tx, secrets)
	})
	if err != nil {
		return err
	}
	return targets.created(c, v)
}

func (s *Service) updateTarget(c *call) error {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return err
	}
	v, err := s.target(c)
	if err != nil {
		return err
	}
	if err := checkRoots(ops, targets.registry); err != nil {
		return err
	}
	to, err := movedTo(ops, v.NodeUUID)
	if err != nil {
		return err
	}
	trial := v
	if err := targets.patch(&trial, ops); err != nil {
		return err
	}
	from := v.NodeUUID
	err = s.changeVolume(c, "volume target", from, to, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.VolumeTarget(ctx, v.UUID)
		if err != nil {
			return err
		}
		v = before
		if err := targets.patch(&v, ops); err != nil {
			return err
		}
		return s.storeTarget(ctx, tx, &before, &v)
	})
	if err != nil {
		return unknownNode(err, from, to)
	}
	return targets.answer(c, http.StatusOK, &v)
}

func (s *Service) deleteTarget(c *call) error {
	v, err := s.target(c)
	if err != nil {
		return err
	}
	err = s.releaseVolume(c, "volume target", v.NodeUUID, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.DeleteVolumeTarget(ctx, v.UUID); err != nil {
			return err
		}
		return tx.DeleteSecrets(ctx, metal.VolumeTargetSecrets(v.NodeUUID, v.UUID))
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// sealTarget moves the credentials of a target's properties to secrets of its
// node.
func sealTarget(before, after *metal.VolumeTarget) (*secretChanges, error) {
	if before.Properties == after.Properties {
		return changesOf(after.NodeUUID), nil
	}
	seal := &metal.Sealing{Place: metal.VolumeTargetSecrets(after.NodeUUID, after.UUID), Old: before.Properties.Object()}
	moved, err := seal.Move(after.Properties.Object())
	if err != nil {
		return nil, err
	}
	after.Properties = metal.ToJSON(moved)
	return changesOf(after.NodeUUID, seal), nil
}

// storeTarget writes a changed target with its secrets. Secrets belong to a node
// and go with it, so those of a target that moves become the other node's.
func (s *Service) storeTarget(ctx context.Context, tx *store.Tx, before, after *metal.VolumeTarget) error {
	if before.NodeUUID != after.NodeUUID {
		place := metal.VolumeTargetSecrets(before.NodeUUID, before.UUID)
		opened, err := s.openSecrets(ctx, tx, after.Properties.Object(), place)
		if err != nil {
			return err
		}
		after.Properties = metal.ToJSON(opened)
		if err := tx.DeleteSecrets(ctx, place); err != nil {
			return err
		}
		before = &metal.VolumeTarget{}
	}
	secrets, err := sealTarget(before, after)
	if err != nil {
		return err
	}
	if err := tx.UpdateVolumeTarget(ctx, after); err != nil {
		return err
	}
	return s.writeSecrets(ctx, tx, secrets)
}
