package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ferrule/metal"
)

var allocations = newAllocations()

func newAllocations() *records[metal.Allocation] {
	t := newTable("allocations", func(a *metal.Allocation) []field {
		return []field{
			fixed("id", &a.ID),
			fixed("uuid", &a.UUID),
			col("name", optText{&a.Name}),
			col("resource_class", optText{&a.ResourceClass}),
			col("node_uuid", optText{&a.NodeUUID}),
			col("candidate_nodes", textList{&a.CandidateNodes}),
			col("traits", textList{&a.Traits}),
			col("extra", (*string)(&a.Extra)),
			col("state", (*string)(&a.State)),
			col("last_error", optText{&a.LastError}),
			col("owner", optText{&a.Owner}),
			fixed("created_at", instant{&a.CreatedAt}),
			col("updated_at", optTime{&a.UpdatedAt}),
			fixed("version", &a.Version),
		}
	})
	return &records[metal.Allocation]{
		table: t, noun: "Allocation",
		marks: func(a *metal.Allocation) marks {
			return marks{&a.ID, &a.UUID, &a.CreatedAt, &a.UpdatedAt, &a.Version, []*metal.JSON{&a.Extra}}
		},
		unique: func(a *metal.Allocation) []unique {
			return []unique{
				taken("allocations", "uuid", a.UUID, a.ID, "An allocation with UUID "+a.UUID+" already exists."),
				taken("allocations", "name", optText{&a.Name}, a.ID, "An allocation with name "+text0(a.Name)+" already exists."),
			}
		},
		keys: sortKeys(t, sortable{"node_id": "node_uuid"}, "extra", "candidate_nodes", "traits", "node_uuid"),
	}
}

// Allocation finds an allocation by UUID or name.
func (r reads) Allocation(ctx context.Context, ident string) (metal.Allocation, error) {
	return allocations.byIdent(ctx, r, ident)
}

// AllocationOf finds the allocation that a node is given to.
func (r reads) AllocationOf(ctx context.Context, nodeUUID string) (metal.Allocation, error) {
	a, err := allocations.get(ctx, r.c, "WHERE node_uuid = ? ORDER BY id LIMIT 1", nodeUUID)
	if errors.Is(err, errNoRow) {
		return a, metal.Errorf(metal.NotFound, "Allocation for node %s was not found.", nodeUUID)
	}
	return a, failed(err, "read the allocation of node %s", nodeUUID)
}

// AllocationQuery filters a list of allocations. Nil is no condition.
type AllocationQuery struct {
	Page
	NodeUUID      *string
	ResourceClass *string
	State         *string
	Owner         *string
}

// Allocations lists allocations.
func (r reads) Allocations(ctx context.Context, q AllocationQuery) ([]metal.Allocation, error) {
	return allocations.page(ctx, r, r.allocationsIn(q), q.Page)
}

func (r reads) allocationsIn(q AllocationQuery) *filter {
	f := selectFrom(r, allocations.table, nil)
	f.equal("node_uuid", q.NodeUUID)
	f.equal("resource_class", q.ResourceClass)
	f.equal("state", q.State)
	f.equal("owner", q.Owner)
	return f
}

// InsertAllocation adds an allocation and sets its ID, Version and, where they
// are not set, CreatedAt and Extra.
func (tx *Tx) InsertAllocation(ctx context.Context, a *metal.Allocation) error {
	return allocations.add(ctx, tx, a)
}

// UpdateAllocation writes a where it still has the version that was read.
func (tx *Tx) UpdateAllocation(ctx context.Context, a *metal.Allocation) error {
	return allocations.change(ctx, tx, a)
}

// DeleteAllocation removes an allocation; a node that it has stays as it is.
func (tx *Tx) DeleteAllocation(ctx context.Context, uuid string) error {
	return allocations.remove(ctx, tx, uuid)
}

// Fit is what an allocation wants of a node. Nil and zero are no condition.
type Fit struct {
	ResourceClass *string
	Candidates    []string // UUIDs
	Owner         *string  // owner or lessee
	Traits        []string // all of them
	Name          *string
	Reserved      *bool // whether somebody works on it
}

// free is what all nodes are that an allocation can have. As literals, for
// SQLite sees no partial index through an argument.
const free = "FROM nodes WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT maintenance AND power_state IS NOT NULL"

func (f Fit) where() (string, []any) {
	var text strings.Builder
	var args []any
	and := func(condition string, values ...any) {
		text.WriteString(" AND " + condition)
		args = append(args, values...)
	}
	if f.ResourceClass != nil {
		and("resource_class = ?", *f.ResourceClass)
	}
	if f.Owner != nil {
		and("(owner = ? OR lessee = ?)", *f.Owner, *f.Owner)
	}
	if f.Name != nil {
		and("name = ?", *f.Name)
	}
	if f.Reserved != nil && *f.Reserved {
		and("reservation IS NOT NULL")
	} else if f.Reserved != nil {
		and("reservation IS NULL")
	}
	for _, trait := range f.Traits {
		and(`traits LIKE ? ESCAPE '\'`, `%"`+likeEscape.Replace(trait)+`"%`) // a list of JSON texts
	}
	if len(f.Candidates) > 0 {
		candidates := make([]any, len(f.Candidates))
		for i, c := range f.Candidates {
			candidates[i] = c
		}
		and("uuid IN ("+strings.TrimSuffix(strings.Repeat("?,", len(candidates)), ",")+")", candidates...)
	}
	return text.String(), args
}

// mostInOne is how many candidates one query looks through, so that no request
// can ask for more arguments than an engine takes.
const mostInOne = 200

// split gives the fit in parts with few candidates each.
func (f Fit) split() []Fit {
	if len(f.Candidates) <= mostInOne {
		return []Fit{f}
	}
	var parts []Fit
	for part := range slices.Chunk(f.Candidates, mostInOne) {
		f.Candidates = part
		parts = append(parts, f)
	}
	return parts
}

// What finds a free node: from a UUID on, or before it.
const (
	freeNode = "SELECT uuid " + free
	fromOn   = " AND uuid >= ? ORDER BY uuid LIMIT 1"
	before   = " AND uuid < ? ORDER BY uuid LIMIT 1"
)

// FreeNode is the UUID of a node that is free and fits: of those, the first from
// start on, in the order of UUIDs, which begins anew behind the last. "" is none.
func (r reads) FreeNode(ctx context.Context, f Fit, start string) (string, error) {
	for _, part := range f.split() {
		where, args := part.where()
		for _, side := range []string{fromOn, before} {
			var uuid string
			found, err := r.c.scalar(ctx, &uuid, freeNode+where+side, append(args[:len(args):len(args)], start)...)
			if err != nil || found {
				return uuid, failed(err, "look for a free node")
			}
		}
	}
	return "", nil
}

// FreeNodes counts the nodes that are free and fit.
func (r reads) FreeNodes(ctx context.Context, f Fit) (int64, error) {
	var sum int64
	for _, part := range f.split() {
		where, args := part.where()
		var n int64
		if _, err := r.c.scalar(ctx, &n, "SELECT count(*) "+free+where, args...); err != nil {
			return 0, failed(err, "count free nodes")
		}
		sum += n
	}
	return sum, nil
}

// NodeUUIDs gives the UUIDs of nodes by their UUIDs and names; what is not there
// is left out. project is whose nodes count, as owner or lessee; nil: all.
func (r reads) NodeUUIDs(ctx context.Context, idents []string, project *string) (map[string]string, error) {
	found := map[string]string{}
	for part := range slices.Chunk(idents, mostInOne) {
		if err := r.nodeUUIDs(ctx, part, project, found); err != nil {
			return nil, failed(err, "find nodes by name")
		}
	}
	return found, nil
}

func (r reads) nodeUUIDs(ctx context.Context, idents []string, project *string, found map[string]string) error {
	marks := strings.TrimSuffix(strings.Repeat("?,", len(idents)), ",")
	var args []any
	for range 2 {
		for _, ident := range idents {
			args = append(args, ident)
		}
	}
	text := "SELECT uuid, name FROM nodes WHERE (uuid IN (" + marks + ") OR name IN (" + marks + "))"
	if project != nil {
		text += " AND (owner = ? OR lessee = ?)"
		args = append(args, *project, *project)
	}
	rows, err := r.c.query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var uuid string
		var name *string
		if err := rows.Scan(&uuid, optText{&name}); err != nil {
			return err
		}
		found[uuid] = uuid
		if name != nil {
			found[*name] = uuid
		}
	}
	return rows.Err()
}
