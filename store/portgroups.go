package store

import (
	"context"
	"strings"

	"ferrule/metal"
)

var portgroups = newPortgroups()

func newPortgroups() *records[metal.Portgroup] {
	t := newTable("portgroups", func(p *metal.Portgroup) []field {
		return []field{
			fixed("id", &p.ID),
			fixed("uuid", &p.UUID),
			col("node_uuid", &p.NodeUUID),
			col("name", optText{&p.Name}),
			col("address", optText{&p.Address}),
			col("mode", optText{&p.Mode}),
			col("properties", (*string)(&p.Properties)),
			col("standalone_ports_supported", &p.StandalonePortsSupported),
			col("physical_network", optText{&p.PhysicalNetwork}),
			col("category", optText{&p.Category}),
			col("dynamic_portgroup", &p.DynamicPortgroup),
			col("extra", (*string)(&p.Extra)),
			col("internal_info", (*string)(&p.InternalInfo)),
			fixed("created_at", instant{&p.CreatedAt}),
			col("updated_at", optTime{&p.UpdatedAt}),
			fixed("version", &p.Version),
		}
	})
	return &records[metal.Portgroup]{
		table: t, noun: "Portgroup",
		marks: func(p *metal.Portgroup) marks {
			return marks{&p.ID, &p.UUID, &p.CreatedAt, &p.UpdatedAt, &p.Version, []*metal.JSON{&p.Properties, &p.Extra, &p.InternalInfo}}
		},
		unique: func(p *metal.Portgroup) []unique {
			return []unique{
				taken("portgroups", "uuid", p.UUID, p.ID, "A portgroup with UUID "+p.UUID+" already exists."),
				taken("portgroups", "name", optText{&p.Name}, p.ID, "A portgroup with name "+text0(p.Name)+" already exists."),
				taken("portgroups", "address", optText{&p.Address}, p.ID, "A portgroup with MAC address "+text0(p.Address)+" already exists."),
			}
		},
		keys: sortKeys(t, sortable{"node_id": "node_uuid"}, "extra", "internal_info", "properties", "node_uuid"),
	}
}

// text0 is a text, "" where it is null.
func text0(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Portgroup finds a portgroup by UUID or name.
func (r reads) Portgroup(ctx context.Context, ident string) (metal.Portgroup, error) {
	return portgroups.byIdent(ctx, r, ident)
}

// PortgroupByUUID finds a portgroup by UUID alone.
func (r reads) PortgroupByUUID(ctx context.Context, uuid string) (metal.Portgroup, error) {
	return portgroups.byUUID(ctx, r, uuid)
}

// PortgroupQuery filters a list of portgroups. Nil and zero are no condition.
type PortgroupQuery struct {
	Page
	NodeUUID        *string
	Address         *string  // in any case
	Shards          []string // of the portgroup's node
	ConductorGroups []string // of the portgroup's node
	Project         *string  // owner or lessee of the portgroup's node
}

// Portgroups lists portgroups.
func (r reads) Portgroups(ctx context.Context, q PortgroupQuery) ([]metal.Portgroup, error) {
	f := selectFrom(r, portgroups.table, nil)
	f.equal("node_uuid", q.NodeUUID)
	if q.Address != nil {
		f.where("address = ?", strings.ToLower(*q.Address))
	}
	f.ofNodes(r, q.Shards, q.ConductorGroups, q.Project)
	return portgroups.page(ctx, r, f, q.Page)
}

// ofNodes keeps what belongs to nodes of the shards, conductor groups and
// project; nil is no condition.
func (f *filter) ofNodes(r reads, shards, groups []string, project *string) {
	if shards == nil && groups == nil && project == nil {
		return
	}
	of := &filter{q: r.builder.NewSelect().Table("nodes").Column("uuid")}
	of.among("shard", shards)
	of.among("conductor_group", groups)
	if project != nil {
		of.where("(owner = ? OR lessee = ?)", *project, *project)
	}
	if of.err != nil {
		f.err = of.err
		return
	}
	f.q.Where("node_uuid IN (?)", of.q)
}

// InsertPortgroup adds a portgroup and sets its ID, Version and, where they are
// not set, CreatedAt and the empty objects.
func (tx *Tx) InsertPortgroup(ctx context.Context, p *metal.Portgroup) error {
	return portgroups.add(ctx, tx, p)
}

// UpdatePortgroup writes p where it still has the version that was read.
func (tx *Tx) UpdatePortgroup(ctx context.Context, p *metal.Portgroup) error {
	return portgroups.change(ctx, tx, p)
}

// DeletePortgroup removes a portgroup.
func (tx *Tx) DeletePortgroup(ctx context.Context, uuid string) error {
	return portgroups.remove(ctx, tx, uuid)
}
