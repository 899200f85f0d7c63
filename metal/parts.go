package metal

import "time"

// BIOSSetting is one setting of a node's BIOS as it was last read, with what
// the BMC's registry says of it.
type BIOSSetting struct {
	NodeUUID        string
	Name            string
	Value           *string
	AttributeType   *string
	AllowableValues []string
	LowerBound      *int64
	UpperBound      *int64
	MinLength       *int64
	MaxLength       *int64
	ReadOnly        *bool
	ResetRequired   *bool
	Unique          *bool
	CreatedAt       time.Time
	UpdatedAt       *time.Time
}

// FirmwareComponent is a part of a node that has firmware, as it was last read.
type FirmwareComponent struct {
	NodeUUID           string
	Component          string
	InitialVersion     *string
	CurrentVersion     *string
	LastVersionFlashed *string
	Vendor             *string
	Model              *string
	SerialNumber       *string
	CreatedAt          time.Time
	UpdatedAt          *time.Time
}
