package runner

import (
	"time"

	"ferrule/conductor/rules"
	"ferrule/hardware"
	"ferrule/metal"
)

// Settings are the options that decide what the runner does
// (ironic.conf: [conductor], [deploy], [inspector], [redfish]).
type Settings struct {
	Host                       string // stands in reservation while a node is worked on
	AutomatedClean             bool
	DeployTimeout              time.Duration // 0: waits without end, as in all of these
	CleanTimeout               time.Duration
	InspectTimeout             time.Duration
	RescueTimeout              time.Duration
	ServiceTimeout             time.Duration
	CommandTimeout             time.Duration // for an agent's answer to one command
	PowerTimeout               time.Duration // for the BMC to show the state asked for
	SoftPowerTimeout           time.Duration
	PowerSyncMaxRetries        int
	WatchHealth                bool
	PowerOffAfterDeployFailure bool
	EraseDevicesPriority       *int
	EraseMetadataPriority      *int
	CreateRAIDPriority         *int
	DeleteRAIDPriority         *int
	CleanStepPriority          map[string]int // "interface.step" → priority
	ForbiddenCleanSteps        []string       // left out of automated cleaning, "interface.step"
	ForbiddenDeploySteps       []string
	LongestPause               time.Duration // of a wait step
	RecordFlows                bool          // the start and end of each list of steps go to the history
	PowerOffAfterCleanFailure  bool
	PowerOffAfterServiceFail   bool
	KernelParams               []string
	InspectParams              []string // more words on the kernel line of an inspection
	InspectPowerOff            bool
	AddPorts                   string // all, active, pxe, disabled
	KeepPorts                  string // all, present, added
	PreCreatePorts             bool
	UpdatePXEEnabled           bool
	InspectHooks               []string          // in their order
	CPUCapabilities            map[string]string // by the processor's flag
	RedfishInspectHooks        []string
	MaskSecrets                string // from inspection rules: always, sensitive, never
}

// World is what one turn of the runner may look at.
type World struct {
	Node       metal.Node
	Ports      []metal.Port
	Operations []metal.OperationRecord // the open ones
	AgentID    string                  // serves the node; metal.LocalAgent for this process; "" for none
	Catalogue  *hardware.Catalogue
	Settings   Settings
	Now        time.Time
	Rules      []metal.InspectionRule        // for entries that need them, see NeedsRules
	RulesError error                         // why Rules could not be read: inspections fail with it
	Taken      func(what, value string) bool // see rules.Settings
	NewID      func() string                 // UUIDs; given, so that the runner stays pure
}

// Outcome is what is to be written, all in one transaction.
type Outcome struct {
	Node        metal.Node
	Operations  []metal.OperationRecord // as they stand now; FinishedAt is set on those that closed
	Commands    []Order
	Timers      []metal.TimerPayload
	History     []metal.HistoryEntry
	CreatePorts []metal.Port
	UpdatePorts []metal.Port
	DeletePorts []string // UUIDs
	Inventory   *metal.InventoryRecord
	BIOS        *[]metal.BIOSSetting       // all of them; nil where nothing is new
	Firmware    *[]metal.FirmwareComponent // likewise
	NewTokens   []string                   // refs under which a fresh random token is to be sealed
	Secrets     map[string]string          // values to be sealed, by ref
	Notes       []rules.Note               // for the log
	DropSecrets []string                   // refs to be deleted
	DropPlaces  []metal.SecretPlace        // all that is kept there is to be deleted; before anything is sealed
}

// Order is a command to be signed and sent.
type Order struct {
	ID          string
	OperationID string
	AgentID     string
	Request     metal.Request
	Expires     time.Time
}
