package metal

import "fmt"

// Verb is a target of PUT /v1/nodes/{node}/states/provision.
type Verb string

// The provision verbs.
const (
	VerbActive   Verb = "active"
	VerbRebuild  Verb = "rebuild"
	VerbDeleted  Verb = "deleted"
	VerbManage   Verb = "manage"
	VerbProvide  Verb = "provide"
	VerbInspect  Verb = "inspect"
	VerbAbort    Verb = "abort"
	VerbClean    Verb = "clean"
	VerbAdopt    Verb = "adopt"
	VerbRescue   Verb = "rescue"
	VerbUnrescue Verb = "unrescue"
	VerbUnhold   Verb = "unhold"
	VerbService  Verb = "service"
)

// VerbInfo is one row of the table of verbs (Ironic: api/controllers/v1/versions).
// In which states a verb is possible, and what it leads to, is in Transitions.
type VerbInfo struct {
	Verb           Verb
	Alias          string // a second word for it, from AliasSince on
	AliasSince     int
	MinMinor       int   // first microversion 1.N that knows the verb
	Event          Event // what it fires
	Signals        bool  // it tells the operation that waits; no operation of its own begins
	NotMaintenance bool  // refused while the node is in maintenance
	NotProtected   bool  // refused while the node is protected
	NotRetired     bool
	NeedsSteps     bool // clean_steps, service_steps or a runbook must be given
	ConfigDrive    int  // microversion from which a config drive is taken; 0 never
	DeploySteps    int
	DisableRamdisk int

	// Validates are the interfaces that must be valid; Invalid is the refusal,
	// with the node's UUID and the reason.
	Validates []InterfaceType
	Invalid   string
	// Uses are the interfaces that it cannot do without besides those.
	Uses []InterfaceType
	// Ramdisk is the interface that decides whether the verb boots a ramdisk; ""
	// where it never does.
	Ramdisk InterfaceType
	// Limit is the limit that it counts towards; zero: none.
	Limit VerbLimit

	AutomatedClean bool // it cleans the node, where that is wanted

	Steps   StepKind // the sort of steps that it runs; "" for none
	Ordered bool     // they are those of the request, in its order
	Flow    string   // what the list of steps is called in the history
	Target  State    // target_provision_state through all its states; NoState: the table's
	// Failure is last_error outside of steps, with the node's UUID and the cause;
	// "" is the cause alone. FailsIn is the one state in which it holds.
	Failure string
	FailsIn State
}

// VerbLimit bounds how many nodes are at something at a time.
type VerbLimit struct {
	Of   string  // what is limited
	Busy []State // the states that count
}

// The limits.
var (
	LimitDeploy = VerbLimit{Of: "deployments", Busy: []State{Deploying, DeployWait}}
	LimitClean  = VerbLimit{Of: "cleanings", Busy: []State{Deleting, Cleaning, CleanWait}}
)

// Verbs is the whole table of verbs.
func Verbs() []VerbInfo { return verbs }

// Info is the table's row of v.
func (v Verb) Info() (VerbInfo, bool) {
	for _, info := range verbs {
		if info.Verb == v {
			return info, true
		}
	}
	return VerbInfo{}, false
}

var verbs = []VerbInfo{
	{
		Verb: VerbActive, Alias: "deploy", AliasSince: 73, MinMinor: 1, Event: EventDeploy, NotMaintenance: true, ConfigDrive: 1, DeploySteps: 69,
		Validates: deployInterfaces, Invalid: deployInvalid, Ramdisk: DeployInterface, Limit: LimitDeploy,
		Steps: DeploySteps, Flow: "deployment", Failure: deployFailure,
	},
	{
		Verb: VerbRebuild, MinMinor: 1, Event: EventRebuild, NotMaintenance: true, NotProtected: true, ConfigDrive: 35, DeploySteps: 69,
		Validates: deployInterfaces, Invalid: deployInvalid, Ramdisk: DeployInterface, Limit: LimitDeploy,
		Steps: DeploySteps, Flow: "deployment", Failure: deployFailure,
	},
	{
		Verb: VerbDeleted, Alias: "undeploy", MinMinor: 1, Event: EventDelete, NotProtected: true, Limit: LimitClean,
		Steps: CleanSteps, Flow: automatedCleaning, Failure: "Failed to tear down. Error: %[2]s", FailsIn: Deleting,
	},
	{
		Verb: VerbManage, MinMinor: 4, Event: EventManage, Uses: []InterfaceType{PowerInterface},
		Failure: "Failed to get power state for node %s. Error: %s",
	},
	{
		Verb: VerbProvide, MinMinor: 4, Event: EventProvide, NotRetired: true, AutomatedClean: true,
		Steps: CleanSteps, Flow: automatedCleaning,
	},
	{
		Verb: VerbInspect, MinMinor: 6, Event: EventInspect,
		Validates: []InterfaceType{PowerInterface, InspectInterface}, Invalid: "Failed to validate inspection or power info for node %s. Error: %s",
		Ramdisk: InspectInterface, Failure: "Failed to inspect hardware. Reason: %[2]s",
	},
	{Verb: VerbAbort, MinMinor: 13, Event: EventAbort, Signals: true},
	{
		Verb: VerbClean, MinMinor: 15, Event: EventClean, NotMaintenance: true, NeedsSteps: true, DisableRamdisk: 70,
		Validates: stepInterfaces, Invalid: stepsInvalid, Limit: LimitClean,
		Steps: CleanSteps, Ordered: true, Flow: "manual cleaning", Target: Manageable,
	},
	{Verb: VerbAdopt, MinMinor: 17, Event: EventAdopt},
	{
		Verb: VerbRescue, MinMinor: 38, Event: EventRescue, NotMaintenance: true,
		Validates: []InterfaceType{PowerInterface, RescueInterface, NetworkInterface}, Invalid: "Validation of node %s for rescue failed: %s",
		Ramdisk: RescueInterface, Failure: "Failed to rescue: %[2]s",
	},
	{
		Verb: VerbUnrescue, MinMinor: 38, Event: EventUnrescue, NotMaintenance: true,
		Validates: []InterfaceType{PowerInterface}, Invalid: "Validation of node %s for unrescue failed: %s",
		Uses: []InterfaceType{ManagementInterface}, Failure: "Failed to unrescue: %[2]s",
	},
	{Verb: VerbUnhold, MinMinor: 85, Event: EventUnhold, Signals: true},
	{
		Verb: VerbService, MinMinor: 87, Event: EventService, NotMaintenance: true, NeedsSteps: true, DisableRamdisk: 108,
		Validates: stepInterfaces, Invalid: stepsInvalid,
		Steps: ServiceSteps, Ordered: true, Flow: "servicing",
	},
}

// What several verbs share.
var (
	deployInterfaces = []InterfaceType{PowerInterface, DeployInterface}
	stepInterfaces   = []InterfaceType{PowerInterface, NetworkInterface}
)

const (
	deployInvalid     = "Failed to validate deploy or power info for node %s. Error: %s"
	deployFailure     = "Failed to deploy node %s: %s"
	stepsInvalid      = "Validation of node %s failed: %s"
	automatedCleaning = "automated cleaning"
)

// AbortSince is the first microversion at which abort is taken in state s.
func AbortSince(s State) int {
	switch s {
	case InspectWait:
		return 41
	case DeployWait:
		return 110
	default:
		return 13
	}
}

// ParseVerb finds the verb named by word, by itself or by its alias.
func ParseVerb(word string) (info VerbInfo, alias bool, ok bool) {
	for _, v := range verbs {
		switch word {
		case string(v.Verb):
			return v, false, true
		case v.Alias:
			return v, true, v.Alias != ""
		}
	}
	return VerbInfo{}, false, false
}

// FailureText is last_error of a verb that failed outside of steps.
func (v VerbInfo) FailureText(n *Node, cause error) string {
	return fmt.Sprintf(v.Failure, n.UUID, cause)
}
