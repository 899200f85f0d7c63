package metal

import "time"

// AllocationState is how far an allocation came.
type AllocationState string

// The states of an allocation.
const (
	Allocating       AllocationState = "allocating"
	AllocationActive AllocationState = "active"
	AllocationError  AllocationState = "error"
)

// Allocation is the wish for a node of some class, and the node that was found
// for it. Its UUID is the node's instance_uuid.
type Allocation struct {
	ID             int64
	UUID           string
	Name           *string // unique
	ResourceClass  *string // null only where a node without one was backfilled
	NodeUUID       *string
	CandidateNodes []string // UUIDs; none: any node
	Traits         []string // that the node must have
	Extra          JSON
	State          AllocationState
	LastError      *string
	Owner          *string
	CreatedAt      time.Time
	UpdatedAt      *time.Time
	Version        int64
}
