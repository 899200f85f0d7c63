package metal

import "time"

// DeployTemplate is a list of deploy steps that apply to a node when one of its
// instance's traits has the template's name.
type DeployTemplate struct {
	ID        int64
	UUID      string
	Name      string // a trait; unique
	Steps     JSON   // a list of {interface, step, args, priority}
	Extra     JSON
	CreatedAt time.Time
	UpdatedAt *time.Time
	Version   int64
}

// Runbook is a list of steps to clean or service nodes with, which its name or
// its traits tie to nodes.
type Runbook struct {
	ID             int64
	UUID           string
	Name           string // unique
	Description    *string
	Steps          JSON // a list of {interface, step, args?, order}
	Traits         []string
	DisableRamdisk bool
	Public         bool // everybody may use it; then it has no owner
	Owner          *string
	Extra          JSON
	CreatedAt      time.Time
	UpdatedAt      *time.Time
	Version        int64
}
