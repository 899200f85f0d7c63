package store

import (
	"context"
	"strconv"

	"ferrule/metal"
)

var (
	volumeConnectors = newVolumeConnectors()
	volumeTargets    = newVolumeTargets()
)

func newVolumeConnectors() *records[metal.VolumeConnector] {
	t := newTable("volume_connectors", func(v *metal.VolumeConnector) []field {
		return []field{
			fixed("id", &v.ID),
			fixed("uuid", &v.UUID),
			col("node_uuid", &v.NodeUUID),
			col("type", &v.Type),
			col("connector_id", &v.ConnectorID),
			col("extra", (*string)(&v.Extra)),
			fixed("created_at", instant{&v.CreatedAt}),
			col("updated_at", optTime{&v.UpdatedAt}),
			fixed("version", &v.Version),
		}
	})
	return &records[metal.VolumeConnector]{
		table: t, noun: "Volume connector",
		marks: func(v *metal.VolumeConnector) marks {
			return marks{&v.ID, &v.UUID, &v.CreatedAt, &v.UpdatedAt, &v.Version, []*metal.JSON{&v.Extra}}
		},
		unique: func(v *metal.VolumeConnector) []unique {
			return []unique{
				taken("volume_connectors", "uuid", v.UUID, v.ID, "A volume connector with UUID "+v.UUID+" already exists."),
				{"volume_connectors_connector", "SELECT 1 FROM volume_connectors WHERE type = ? AND connector_id = ? AND id <> ?",
					[]any{v.Type, v.ConnectorID, v.ID},
					"A volume connector with type " + v.Type + " and connector ID " + v.ConnectorID + " already exists."},
			}
		},
		keys: sortKeys(t, sortable{"node_id": "node_uuid"}, "extra", "node_uuid"),
	}
}

func newVolumeTargets() *records[metal.VolumeTarget] {
	t := newTable("volume_targets", func(v *metal.VolumeTarget) []field {
		return []field{
			fixed("id", &v.ID),
			fixed("uuid", &v.UUID),
			col("node_uuid", &v.NodeUUID),
			col("volume_type", &v.VolumeType),
			col("boot_index", &v.BootIndex),
			col("volume_id", &v.VolumeID),
			col("properties", (*string)(&v.Properties)),
			col("extra", (*string)(&v.Extra)),
			fixed("created_at", instant{&v.CreatedAt}),
			col("updated_at", optTime{&v.UpdatedAt}),
			fixed("version", &v.Version),
		}
	})
	return &records[metal.VolumeTarget]{
		table: t, noun: "Volume target",
		marks: func(v *metal.VolumeTarget) marks {
			return marks{&v.ID, &v.UUID, &v.CreatedAt, &v.UpdatedAt, &v.Version, []*metal.JSON{&v.Properties, &v.Extra}}
		},
		unique: func(v *metal.VolumeTarget) []unique {
			return []unique{
				taken("volume_targets", "uuid", v.UUID, v.ID, "A volume target with UUID "+v.UUID+" already exists."),
				{"volume_targets_boot_index", "SELECT 1 FROM volume_targets WHERE node_uuid = ? AND boot_index = ? AND id <> ?",
					[]any{v.NodeUUID, v.BootIndex, v.ID},
					"A volume target with boot index " + strconv.FormatInt(v.BootIndex, 10) + " for the same node already exists."},
			}
		},
		keys: sortKeys(t, sortable{"node_id": "node_uuid"}, "extra", "properties", "node_uuid"),
	}
}

// VolumeQuery filters a list of connectors or targets. Nil is no condition.
type VolumeQuery struct {
	Page
	NodeUUID *string
	Project  *string // owner or lessee of the node
}

func (q VolumeQuery) filter(r reads, f *filter) *filter {
	f.equal("node_uuid", q.NodeUUID)
	f.ofNodes(r, nil, nil, q.Project)
	return f
}

// VolumeConnector finds a connector by UUID.
func (r reads) VolumeConnector(ctx context.Context, uuid string) (metal.VolumeConnector, error) {
	return volumeConnectors.byUUID(ctx, r, uuid)
}

// VolumeConnectors lists connectors.
func (r reads) VolumeConnectors(ctx context.Context, q VolumeQuery) ([]metal.VolumeConnector, error) {
	return volumeConnectors.page(ctx, r, q.filter(r, selectFrom(r, volumeConnectors.table, nil)), q.Page)
}

// InsertVolumeConnector adds a connector and sets its ID, Version and, where
// they are not set, CreatedAt and Extra.
func (tx *Tx) InsertVolumeConnector(ctx context.Context, v *metal.VolumeConnector) error {
	return volumeConnectors.add(ctx, tx, v)
}

// UpdateVolumeConnector writes v where it still has the version that was read.
func (tx *Tx) UpdateVolumeConnector(ctx context.Context, v *metal.VolumeConnector) error {
	return volumeConnectors.change(ctx, tx, v)
}

// DeleteVolumeConnector removes a connector.
func (tx *Tx) DeleteVolumeConnector(ctx context.Context, uuid string) error {
	return volumeConnectors.remove(ctx, tx, uuid)
}

// VolumeTarget finds a target by UUID.
func (r reads) VolumeTarget(ctx context.Context, uuid string) (metal.VolumeTarget, error) {
	return volumeTargets.byUUID(ctx, r, uuid)
}

// VolumeTargets lists targets.
func (r reads) VolumeTargets(ctx context.Context, q VolumeQuery) ([]metal.VolumeTarget, error) {
	return volumeTargets.page(ctx, r, q.filter(r, selectFrom(r, volumeTargets.table, nil)), q.Page)
}

// InsertVolumeTarget adds a target and sets its ID, Version and, where they are
// not set, CreatedAt and the empty objects.
func (tx *Tx) InsertVolumeTarget(ctx context.Context, v *metal.VolumeTarget) error {
	return volumeTargets.add(ctx, tx, v)
}

// UpdateVolumeTarget writes v where it still has the version that was read.
func (tx *Tx) UpdateVolumeTarget(ctx context.Context, v *metal.VolumeTarget) error {
	return volumeTargets.change(ctx, tx, v)
}

// DeleteVolumeTarget removes a target.
func (tx *Tx) DeleteVolumeTarget(ctx context.Context, uuid string) error {
	return volumeTargets.remove(ctx, tx, uuid)
}
