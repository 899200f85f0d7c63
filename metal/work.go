package metal

import "time"

// Axis is one of the things a node may be doing at the same time.
type Axis string

// The axes.
const (
	AxisProvision Axis = "provision"
	AxisPower     Axis = "power"
	AxisAction    Axis = "action" // whatever else is done to the hardware behind an answer
)

// OperationRecord is what a node is doing now: at most one is open per node
// and axis. Plan belongs to the conductor's runner (its tasks, steps and
// cursor); everybody else leaves it alone.
type OperationRecord struct {
	ID         string // UUID
	NodeUUID   string
	Axis       Axis
	Verb       string     // a provision verb, the power target, or an Action
	Args       JSON       // the request's own arguments (clean_steps, timeout …); no secret but by ref
	Plan       JSON       // the runner's state
	Deadline   *time.Time // when the wait that is under way times out
	RequestID  string
	User       *string
	Project    *string
	StartedAt  time.Time
	FinishedAt *time.Time // set when it closes
}

// InboxKind is the sort of an inbox entry.
type InboxKind string

// The sorts of inbox entries.
const (
	InboxVerb       InboxKind = "verb"       // an operation was opened, or abort/unhold was asked for
	InboxHeartbeat  InboxKind = "heartbeat"  // the ramdisk called
	InboxInspection InboxKind = "inspection" // the ramdisk sent its inventory
	InboxResult     InboxKind = "result"     // a command ended
	InboxTimer      InboxKind = "timer"      // a deadline passed
	InboxPower      InboxKind = "power"      // the power watch saw another state
)

// InboxEntry is one event in a node's inbox. Each is handled exactly once, in
// the transaction that writes what follows from it.
type InboxEntry struct {
	ID        int64
	NodeUUID  string
	Kind      InboxKind
	Payload   JSON
	Failures  int64 // how often it could not be handled
	CreatedAt time.Time
}

// Payloads of inbox entries, by kind.
type (
	// VerbPayload goes with InboxVerb. OperationID is that of the operation
	// opened, or the one that abort or unhold means.
	VerbPayload struct {
		Verb        string `json:"verb"`
		OperationID string `json:"operationId,omitempty"`
	}
	// ResultPayload goes with InboxResult.
	ResultPayload struct {
		CommandID   string        `json:"commandId"`
		OperationID string        `json:"operationId"`
		Result      CommandResult `json:"result"`
	}
	// TimerPayload goes with InboxTimer: stale where the operation has closed
	// or its deadline has moved.
	TimerPayload struct {
		OperationID string    `json:"operationId"`
		Deadline    time.Time `json:"deadline"`
	}
	// InspectionPayload goes with InboxInspection: what the ramdisk sent, split
	// as Ironic stores it.
	InspectionPayload struct {
		Inventory  JSON `json:"inventory"`
		PluginData JSON `json:"pluginData"`
	}
	// HeartbeatPayload goes with InboxHeartbeat; the addresses and times of the
	// call are on the node already.
	HeartbeatPayload struct {
		AgentURL string `json:"agentUrl"`
	}
	// PowerPayload goes with InboxPower. An empty State with an error code is
	// an unreachable BMC.
	PowerPayload struct {
		State     PowerState `json:"state"`
		Health    Health     `json:"health,omitempty"`
		ErrorCode ErrorCode  `json:"errorCode,omitempty"`
		Message   string     `json:"message,omitempty"`
		SeenAt    time.Time  `json:"seenAt"`
	}
)

// CommandStatus is how far a command has come.
type CommandStatus string

// The statuses of a command.
const (
	CommandQueued CommandStatus = "queued" // committed, and has no number
	CommandSent   CommandStatus = "sent"   // has its number: it is on a stream, or about to be
	CommandDone   CommandStatus = "done"   // its result is stored
)

// CommandRecord is a command's row: what is wanted of which agent for whom.
type CommandRecord struct {
	ID          string
	Seq         int64 // order of delivery, an agent's resume cursor; 0 until it is delivered
	NodeUUID    string
	OperationID string // "" where an API handler waits for the result
	AgentID     string // LocalAgent for hardware types that this process serves itself
	Kind        Kind
	Operation   Operation
	Envelope    string // JWS over the Command's JSON; for LocalAgent the JSON itself
	Status      CommandStatus
	Result      *CommandResult
	IssuedAt    time.Time
	ExpiresAt   time.Time
	FinishedAt  *time.Time
}

// LocalAgent is the agent id of commands that the conductor process carries
// out itself (fake-hardware, manual-management).
const LocalAgent = "local"

// Step is one clean, deploy, service or verify step.
type Step struct {
	Interface       string         `json:"interface"`
	Step            string         `json:"step"`
	Priority        int            `json:"priority"`
	Args            map[string]any `json:"args,omitempty"`
	ArgsInfo        map[string]any `json:"argsinfo,omitempty"`
	Abortable       bool           `json:"abortable"`
	RequiresRamdisk bool           `json:"requires_ramdisk"`
	RebootRequested bool           `json:"reboot_requested,omitempty"`
	Order           *int           `json:"order,omitempty"`
	OnChildNodes    bool           `json:"execute_on_child_nodes,omitempty"`
}

// Name is "interface.step", as texts and overrides write it.
func (s Step) Name() string { return s.Interface + "." + s.Step }
