package store

import (
	"context"
	"errors"
	"reflect"
	"time"

	"ferrule/metal"
)

// parts is a table of what was last read of nodes: a name for each part of one
// node.
type parts[T any] struct {
	*table[T]
	nameColumn string
	marks      func(v *T) partMarks
}

type partMarks struct {
	node, name *string
	created    *time.Time
	updated    **time.Time
}

var biosSettings = parts[metal.BIOSSetting]{
	table: newTable("bios_settings", func(b *metal.BIOSSetting) []field {
		return []field{
			fixed("node_uuid", &b.NodeUUID),
			fixed("name", &b.Name),
			col("value", optText{&b.Value}),
			col("attribute_type", optText{&b.AttributeType}),
			col("allowable_values", textList{&b.AllowableValues}),
			col("lower_bound", optInt{&b.LowerBound}),
			col("upper_bound", optInt{&b.UpperBound}),
			col("min_length", optInt{&b.MinLength}),
			col("max_length", optInt{&b.MaxLength}),
			col("read_only", optBool{&b.ReadOnly}),
			col("reset_required", optBool{&b.ResetRequired}),
			col("is_unique", optBool{&b.Unique}),
			fixed("created_at", instant{&b.CreatedAt}),
			col("updated_at", optTime{&b.UpdatedAt}),
		}
	}),
	nameColumn: "name",
	marks: func(b *metal.BIOSSetting) partMarks {
		return partMarks{&b.NodeUUID, &b.Name, &b.CreatedAt, &b.UpdatedAt}
	},
}

var firmware = parts[metal.FirmwareComponent]{
	table: newTable("firmware_components", func(f *metal.FirmwareComponent) []field {
		return []field{
			fixed("node_uuid", &f.NodeUUID),
			fixed("component", &f.Component),
			col("initial_version", optText{&f.InitialVersion}),
			col("current_version", optText{&f.CurrentVersion}),
			col("last_version_flashed", optText{&f.LastVersionFlashed}),
			col("vendor", optText{&f.Vendor}),
			col("model", optText{&f.Model}),
			col("serial_number", optText{&f.SerialNumber}),
			fixed("created_at", instant{&f.CreatedAt}),
			col("updated_at", optTime{&f.UpdatedAt}),
		}
	}),
	nameColumn: "component",
	marks: func(f *metal.FirmwareComponent) partMarks {
		return partMarks{&f.NodeUUID, &f.Component, &f.CreatedAt, &f.UpdatedAt}
	},
}

func (p parts[T]) of(ctx context.Context, r reads, nodeUUID string) ([]T, error) {
	list, err := p.list(ctx, r.c, "WHERE node_uuid = ? ORDER BY "+p.nameColumn, nodeUUID)
	return list, failed(err, "list %s of node %s", p.name, nodeUUID)
}

// sync makes list the parts of the node: others are forgotten, and those that
// did not change keep their times.
func (p parts[T]) sync(ctx context.Context, tx *Tx, nodeUUID string, list []T, keep func(old, v *T)) error {
	known, err := p.of(ctx, tx.reads, nodeUUID)
	if err != nil {
		return err
	}
	old := map[string]*T{}
	for i := range known {
		old[*p.marks(&known[i]).name] = &known[i]
	}
	for i := range list {
		m := p.marks(&list[i])
		*m.node, *m.created, *m.updated = nodeUUID, tx.now(), nil
		before, found := old[*m.name]
		delete(old, *m.name)
		if !found {
			if _, err := p.insert(ctx, tx.c, &list[i]); err != nil {
				return failed(err, "store %s of node %s", p.name, nodeUUID)
			}
			continue
		}
		was := p.marks(before)
		*m.created, *m.updated = *was.created, *was.updated
		keep(before, &list[i])
		if reflect.DeepEqual(before, &list[i]) {
			continue
		}
		now := tx.now()
		*m.updated = &now
		if _, err := p.update(ctx, tx.c, &list[i], " WHERE node_uuid = ? AND "+p.nameColumn+" = ?", nodeUUID, *m.name); err != nil {
			return failed(err, "store %s of node %s", p.name, nodeUUID)
		}
	}
	for name := range old {
		_, err := tx.c.exec(ctx, "DELETE FROM "+p.name+" WHERE node_uuid = ? AND "+p.nameColumn+" = ?", nodeUUID, name)
		if err != nil {
			return failed(err, "forget %s of node %s", p.name, nodeUUID)
		}
	}
	return nil
}

// BIOSSettings lists what was last read of a node's BIOS, by name.
func (r reads) BIOSSettings(ctx context.Context, nodeUUID string) ([]metal.BIOSSetting, error) {
	return biosSettings.of(ctx, r, nodeUUID)
}

// BIOSSetting finds one setting by name.
func (r reads) BIOSSetting(ctx context.Context, nodeUUID, name string) (metal.BIOSSetting, error) {
	b, err := biosSettings.get(ctx, r.c, "WHERE node_uuid = ? AND name = ?", nodeUUID, name)
	if errors.Is(err, errNoRow) {
		return b, metal.Errorf(metal.NotFound, "Node %s doesn't have a BIOS setting '%s'.", nodeUUID, name)
	}
	return b, failed(err, "read BIOS setting %s of node %s", name, nodeUUID)
}

// SyncBIOSSettings makes the settings those that were last read.
func (tx *Tx) SyncBIOSSettings(ctx context.Context, nodeUUID string, settings []metal.BIOSSetting) error {
	return biosSettings.sync(ctx, tx, nodeUUID, settings, func(_, _ *metal.BIOSSetting) {})
}

// FirmwareComponents lists what was last read of a node's firmware, by
// component.
func (r reads) FirmwareComponents(ctx context.Context, nodeUUID string) ([]metal.FirmwareComponent, error) {
	return firmware.of(ctx, r, nodeUUID)
}

// SyncFirmwareComponents makes the components those that were last read. The
// version that one was first seen with stays.
func (tx *Tx) SyncFirmwareComponents(ctx context.Context, nodeUUID string, components []metal.FirmwareComponent) error {
	for i := range components {
		if components[i].InitialVersion == nil {
			components[i].InitialVersion = components[i].CurrentVersion
		}
	}
	return firmware.sync(ctx, tx, nodeUUID, components, func(old, c *metal.FirmwareComponent) {
		c.InitialVersion = old.InitialVersion
		if c.LastVersionFlashed == nil {
			c.LastVersionFlashed = old.LastVersionFlashed
		}
	})
}

// Shard is a shard with the number of its nodes.
type Shard struct {
	Name  *string // nil: of the nodes without a shard
	Count int64
}

// Shards lists the shards, the largest first.
func (r reads) Shards(ctx context.Context) ([]Shard, error) {
	rows, err := r.c.query(ctx, "SELECT shard, count(*) FROM nodes GROUP BY shard ORDER BY count(*) DESC, shard NULLS FIRST")
	if err != nil {
		return nil, failed(err, "count nodes by shard")
	}
	defer rows.Close()
	var list []Shard
	for rows.Next() {
		var s Shard
		if err := rows.Scan(optText{&s.Name}, &s.Count); err != nil {
			return nil, failed(err, "count nodes by shard")
		}
		list = append(list, s)
	}
	return list, failed(rows.Err(), "count nodes by shard")
}
