package store

import (
	"context"

	"ferrule/metal"
)

var chassis = newChassis()

func newChassis() *records[metal.Chassis] {
	t := newTable("chassis", func(c *metal.Chassis) []field {
		return []field{
			fixed("id", &c.ID),
			fixed("uuid", &c.UUID),
			col("description", optText{&c.Description}),
			col("extra", (*string)(&c.Extra)),
			fixed("created_at", instant{&c.CreatedAt}),
			col("updated_at", optTime{&c.UpdatedAt}),
			fixed("version", &c.Version),
		}
	})
	return &records[metal.Chassis]{
		table: t, noun: "Chassis",
		marks: func(c *metal.Chassis) marks {
			return marks{&c.ID, &c.UUID, &c.CreatedAt, &c.UpdatedAt, &c.Version, []*metal.JSON{&c.Extra}}
		},
		unique: func(c *metal.Chassis) []unique {
			return []unique{taken("chassis", "uuid", c.UUID, c.ID, "A chassis with UUID "+c.UUID+" already exists.")}
		},
		keys: sortKeys(t, nil, "extra"),
	}
}

// Chassis finds a chassis by UUID.
func (r reads) Chassis(ctx context.Context, uuid string) (metal.Chassis, error) {
	return chassis.byUUID(ctx, r, uuid)
}

// ChassisList lists chassis.
func (r reads) ChassisList(ctx context.Context, p Page) ([]metal.Chassis, error) {
	return chassis.page(ctx, r, selectFrom(r, chassis.table, nil), p)
}

// InsertChassis adds a chassis and sets its ID, Version and, where they are not
// set, CreatedAt and Extra.
func (tx *Tx) InsertChassis(ctx context.Context, c *metal.Chassis) error {
	return chassis.add(ctx, tx, c)
}

// UpdateChassis writes c where it still has the version that was read.
func (tx *Tx) UpdateChassis(ctx context.Context, c *metal.Chassis) error {
	return chassis.change(ctx, tx, c)
}

// DeleteChassis removes a chassis that no node is in.
func (tx *Tx) DeleteChassis(ctx context.Context, uuid string) error {
	// The row is taken for writing first, which is what a node that enters does.
	if _, err := chassis.find(ctx, tx.reads, uuid, "WHERE uuid = ?"+tx.c.lock, uuid); err != nil {
		return err
	}
	var one int64
	found, err := tx.c.scalar(ctx, &one, "SELECT 1 FROM nodes WHERE chassis_uuid = ? LIMIT 1", uuid)
	if err != nil {
		return failed(err, "look for nodes of chassis %s", uuid)
	}
	if found {
		return metal.Errorf(metal.Invalid, "Cannot complete the requested action because chassis %s contains nodes.", uuid)
	}
	return chassis.remove(ctx, tx, uuid)
}

// EnterChassis holds on to a chassis that a node is put into, until the
// transaction ends.
func (tx *Tx) EnterChassis(ctx context.Context, uuid string) error {
	_, err := chassis.find(ctx, tx.reads, uuid, "WHERE uuid = ?"+tx.c.lock, uuid)
	return err
}
