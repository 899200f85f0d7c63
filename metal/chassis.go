package metal

import "time"

// Chassis groups nodes that share a housing.
type Chassis struct {
	ID          int64
	UUID        string
	Description *string
	Extra       JSON
	CreatedAt   time.Time
	UpdatedAt   *time.Time
	Version     int64
}
