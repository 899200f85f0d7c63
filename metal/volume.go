package metal

import "time"

// VolumeConnector is what a node shows of itself to remote storage: an
// initiator's name, an address.
type VolumeConnector struct {
	ID          int64
	UUID        string
	NodeUUID    string
	Type        string // iqn, ip, mac, wwnn, wwpn, port, portgroup, or any other word
	ConnectorID string // unique together with Type
	Extra       JSON
	CreatedAt   time.Time
	UpdatedAt   *time.Time
	Version     int64
}

// VolumeTarget is a volume on remote storage that a node uses.
type VolumeTarget struct {
	ID         int64
	UUID       string
	NodeUUID   string
	VolumeType string
	BootIndex  int64 // 0 is what the node boots from; one of a kind on a node
	VolumeID   string
	Properties JSON // how to reach it; secrets are refs, see IsSecretRef
	Extra      JSON
	CreatedAt  time.Time
	UpdatedAt  *time.Time
	Version    int64
}
