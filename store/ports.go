package store

import (
	"context"
	"errors"
	"strings"

	"ferrule/metal"
)

var ports = newTable("ports", func(p *metal.Port) []field {
	return []field{
		fixed("id", &p.ID),
		fixed("uuid", &p.UUID),
		col("node_uuid", &p.NodeUUID),
		col("address", &p.Address),
		col("name", optText{&p.Name}),
		col("description", optText{&p.Description}),
		col("vendor", optText{&p.Vendor}),
		col("category", optText{&p.Category}),
		col("extra", (*string)(&p.Extra)),
		col("internal_info", (*string)(&p.InternalInfo)),
		col("local_link_connection", (*string)(&p.LocalLinkConnection)),
		col("pxe_enabled", &p.PXEEnabled),
		col("portgroup_uuid", optText{&p.PortgroupUUID}),
		col("physical_network", optText{&p.PhysicalNetwork}),
		col("is_smartnic", &p.IsSmartNIC),
		col("available_for_dynamic_portgroup", &p.AvailableForDynamicPortgroup),
		fixed("created_at", instant{&p.CreatedAt}),
		col("updated_at", optTime{&p.UpdatedAt}),
		fixed("version", &p.Version),
	}
})

// Port finds a port by UUID or name.
func (r reads) Port(ctx context.Context, ident string) (metal.Port, error) {
	return r.port(ctx, ident, "WHERE uuid = ? OR name = ?", ident, ident)
}

// PortByUUID finds a port by UUID alone.
func (r reads) PortByUUID(ctx context.Context, uuid string) (metal.Port, error) {
	return r.port(ctx, uuid, "WHERE uuid = ?", uuid)
}

// PortByAddress finds a port by MAC address, in any case.
func (r reads) PortByAddress(ctx context.Context, mac string) (metal.Port, error) {
	return r.port(ctx, mac, "WHERE address = ?", strings.ToLower(mac))
}

func (r reads) port(ctx context.Context, ident, tail string, args ...any) (metal.Port, error) {
	p, err := ports.get(ctx, r.c, tail, args...)
	if errors.Is(err, errNoRow) {
		return p, portNotFound(ident)
	}
	return p, failed(err, "read port %s", ident)
}

func portNotFound(ident string) error {
	return metal.Errorf(metal.NotFound, "Port %s could not be found.", ident)
}

// PortsOf lists a node's ports in the order of their creation.
func (r reads) PortsOf(ctx context.Context, nodeUUID string) ([]metal.Port, error) {
	list, err := ports.list(ctx, r.c, "WHERE node_uuid = ? ORDER BY id", nodeUUID)
	return list, failed(err, "list ports of node %s", nodeUUID)
}

// InsertPort adds a port and sets its ID, Version and, where they are not set,
// CreatedAt and the empty objects.
func (tx *Tx) InsertPort(ctx context.Context, p *metal.Port) error {
	p.ID, p.Version = tx.newID(), 1
	if p.CreatedAt.IsZero() {
		p.CreatedAt = tx.now()
	}
	for _, f := range []*metal.JSON{&p.Extra, &p.InternalInfo, &p.LocalLinkConnection} {
		if *f == "" {
			*f = metal.EmptyObject
		}
	}
	ok, err := ports.insert(ctx, tx.c, p)
	if err != nil {
		return failed(err, "insert port %s", p.UUID)
	}
	if !ok {
		return tx.portDuplicate(ctx, p, "")
	}
	return nil
}

func (tx *Tx) portDuplicate(ctx context.Context, p *metal.Port, index string) error {
	name := ""
	if p.Name != nil {
		name = *p.Name
	}
	return tx.duplicate(ctx, index, []unique{
		{"ports_uuid", "SELECT 1 FROM ports WHERE uuid = ? AND id <> ?", []any{p.UUID, p.ID},
			"A port with UUID " + p.UUID + " already exists."},
		{"ports_address", "SELECT 1 FROM ports WHERE address = ? AND id <> ?", []any{p.Address, p.ID},
			"A port with MAC address " + p.Address + " already exists."},
		{"ports_name", "SELECT 1 FROM ports WHERE name = ? AND id <> ?", []any{name, p.ID},
			"A port with name " + name + " already exists."},
	})
}

// UpdatePort writes p where it still has the version that was read.
func (tx *Tx) UpdatePort(ctx context.Context, p *metal.Port) error {
	now := tx.now()
	before := p.UpdatedAt
	p.UpdatedAt = &now
	changed, err := ports.update(ctx, tx.c, p,
		", version = version + 1 WHERE uuid = ? AND version = ?", &p.UUID, &p.Version)
	if err == nil && changed == 1 {
		p.Version++
		return nil
	}
	p.UpdatedAt = before
	if index, ok := tx.c.duplicate(err); err != nil && ok {
		return tx.portDuplicate(ctx, p, index)
	}
	if err != nil {
		return failed(err, "update port %s", p.UUID)
	}
	if _, err := tx.PortByUUID(ctx, p.UUID); err != nil {
		return err
	}
	return metal.Errorf(metal.Conflict, "Port %s was changed by another request meanwhile. Read it again and retry.", p.UUID)
}

// DeletePort removes a port.
func (tx *Tx) DeletePort(ctx context.Context, uuid string) error {
	gone, err := tx.c.exec(ctx, "DELETE FROM ports WHERE uuid = ?", uuid)
	if err != nil {
		return failed(err, "delete port %s", uuid)
	}
	if gone == 0 {
		return portNotFound(uuid)
	}
	return nil
}
