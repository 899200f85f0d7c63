package metal

import "time"

// Node is one bare-metal machine as Ironic's API describes it, with the marks
// that Ferrule keeps beside. Pointers are null where the API says null; times
// are UTC with microseconds.
type Node struct {
	ID   int64 // creation order: the default sort key; never shown
	UUID string
	Name *string

	PowerState           *string
	TargetPowerState     *string
	ProvisionState       State
	TargetProvisionState State // NoState is null
	ProvisionUpdatedAt   *time.Time
	LastError            *string
	Reservation          *string // host that works on the node; null in wait and hold states
	Maintenance          bool
	MaintenanceReason    *string
	Fault                *string
	Health               *string

	Driver              string
	BIOSInterface       string
	BootInterface       string
	ConsoleInterface    string
	DeployInterface     string
	FirmwareInterface   string
	InspectInterface    string
	ManagementInterface string
	NetworkInterface    string
	PowerInterface      string
	RAIDInterface       string
	RescueInterface     string
	StorageInterface    string
	VendorInterface     string

	DriverInfo         JSON // secrets are refs, see IsSecretRef
	DriverInternalInfo JSON
	Properties         JSON
	Extra              JSON
	InstanceInfo       JSON
	RAIDConfig         JSON
	TargetRAIDConfig   JSON
	CleanStep          JSON
	DeployStep         JSON
	ServiceStep        JSON
	NetworkData        JSON
	Traits             []string

	InstanceUUID   *string
	InstanceName   *string
	ChassisUUID    *string
	AllocationUUID *string
	ParentNode     *string
	ResourceClass  *string
	ConductorGroup string // the node's site; "" is the default site
	Owner          *string
	Lessee         *string
	Shard          *string
	Description    *string

	AutomatedClean  *bool
	Protected       bool
	ProtectedReason *string
	Retired         bool
	RetiredReason   *string
	ConsoleEnabled  bool
	BootMode        *string
	SecureBoot      *bool
	DisablePowerOff bool

	InspectionStartedAt  *time.Time
	InspectionFinishedAt *time.Time
	CreatedAt            time.Time
	UpdatedAt            *time.Time

	Version int64 // optimistic lock: an update of another version fails
	Wake    bool  // an advance job is on its way
}

// Interface is the node's implementation of one interface type.
func (n *Node) Interface(t InterfaceType) string {
	if p := n.InterfaceField(t); p != nil {
		return *p
	}
	return ""
}

// InterfaceField is where the node keeps its implementation of t; nil where t
// is unknown.
func (n *Node) InterfaceField(t InterfaceType) *string {
	switch t {
	case BIOSInterface:
		return &n.BIOSInterface
	case BootInterface:
		return &n.BootInterface
	case ConsoleInterface:
		return &n.ConsoleInterface
	case DeployInterface:
		return &n.DeployInterface
	case FirmwareInterface:
		return &n.FirmwareInterface
	case InspectInterface:
		return &n.InspectInterface
	case ManagementInterface:
		return &n.ManagementInterface
	case NetworkInterface:
		return &n.NetworkInterface
	case PowerInterface:
		return &n.PowerInterface
	case RAIDInterface:
		return &n.RAIDInterface
	case RescueInterface:
		return &n.RescueInterface
	case StorageInterface:
		return &n.StorageInterface
	case VendorInterface:
		return &n.VendorInterface
	}
	return nil
}

// CleansItself reports whether automated cleaning is wanted; configured is what
// the configuration says for nodes that say nothing.
func (n *Node) CleansItself(configured bool) bool {
	if n.AutomatedClean != nil {
		return *n.AutomatedClean
	}
	return configured
}

// Label is how texts name the node: its name where it has one, else its UUID.
func (n *Node) Label() string {
	if n.Name != nil && *n.Name != "" {
		return *n.Name
	}
	return n.UUID
}

// Fault values, set together with maintenance by the conductor only.
const (
	FaultPower       = "power failure"
	FaultClean       = "clean failure"
	FaultRescueAbort = "rescue abort failure"
	FaultService     = "service failure"
)

// Port is one NIC of a node.
type Port struct {
	ID                           int64
	UUID                         string
	NodeUUID                     string
	Address                      string // lower-case, with colons; unique
	Name                         *string
	Description                  *string
	Vendor                       *string
	Category                     *string
	Extra                        JSON
	InternalInfo                 JSON
	LocalLinkConnection          JSON
	PXEEnabled                   bool
	PortgroupUUID                *string
	PhysicalNetwork              *string
	IsSmartNIC                   bool
	AvailableForDynamicPortgroup bool
	CreatedAt                    time.Time
	UpdatedAt                    *time.Time
	Version                      int64
}

// Conductor is one row of /v1/conductors: a conductor process, or a site
// agent, which appears as a conductor of its site's group.
type Conductor struct {
	ID             int64
	Hostname       string
	ConductorGroup string
	Drivers        []string // hardware types served
	AgentID        string   // "" for a conductor process
	Through        string   // the host name of the process that holds the agent's session; "" for none
	Online         bool     // false after an orderly stop, and for an agent without a stream
	CreatedAt      time.Time
	UpdatedAt      time.Time // last sign of life
}

// Alive reports whether the conductor has been heard of within timeout.
func (c *Conductor) Alive(now time.Time, timeout time.Duration) bool {
	return c.Online && now.Sub(c.UpdatedAt) <= timeout
}

// HistoryEntry is one record of what happened to a node (Ironic: node_history).
type HistoryEntry struct {
	ID                   int64
	UUID                 string
	NodeUUID             string
	Severity             string // INFO or ERROR
	EventType            string // verify, provisioning, cleaning, introspection, deploying, monitoring …
	Event                string // the text
	Conductor            string
	User                 *string
	Project              *string
	State                State
	TargetProvisionState State
	DurationSeconds      *int64
	CreatedAt            time.Time
}

// InventoryRecord is what the last inspection found.
type InventoryRecord struct {
	NodeUUID   string
	Inventory  JSON
	PluginData JSON
	CreatedAt  time.Time
}
