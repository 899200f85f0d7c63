package metal

import "time"

// Portgroup is a group of a node's ports that work as one.
type Portgroup struct {
	ID                       int64
	UUID                     string
	NodeUUID                 string
	Name                     *string
	Address                  *string // lower-case, with colons; unique among portgroups
	Mode                     *string // of bonding
	Properties               JSON    // of bonding
	StandalonePortsSupported bool    // whether a member may work by itself
	PhysicalNetwork          *string
	Category                 *string
	DynamicPortgroup         bool
	Extra                    JSON
	InternalInfo             JSON
	CreatedAt                time.Time
	UpdatedAt                *time.Time
	Version                  int64
}
