package metal

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
type VerbInfo struct {
	Verb           Verb
	Alias          string // a second word for it, from AliasSince on
	AliasSince     int
	MinMinor       int   // first microversion 1.N that knows the verb
	Event          Event // what it fires
	NotMaintenance bool  // refused while the node is in maintenance
	NotProtected   bool  // refused while the node is protected
	NotRetired     bool
	NeedsSteps     bool // clean_steps, service_steps or a runbook must be given
	ConfigDrive    int  // microversion from which a config drive is taken; 0 never
	DeploySteps    int
	DisableRamdisk int
}

// Verbs is the whole table of verbs.
func Verbs() []VerbInfo { return verbs }

var verbs = []VerbInfo{
	{Verb: VerbActive, Alias: "deploy", AliasSince: 73, MinMinor: 1, Event: EventDeploy, NotMaintenance: true, ConfigDrive: 1, DeploySteps: 69},
	{Verb: VerbRebuild, MinMinor: 1, Event: EventRebuild, NotMaintenance: true, NotProtected: true, ConfigDrive: 35, DeploySteps: 69},
	{Verb: VerbDeleted, Alias: "undeploy", MinMinor: 1, Event: EventDelete, NotProtected: true},
	{Verb: VerbManage, MinMinor: 4, Event: EventManage},
	{Verb: VerbProvide, MinMinor: 4, Event: EventProvide, NotRetired: true},
	{Verb: VerbInspect, MinMinor: 6, Event: EventInspect},
	{Verb: VerbAbort, MinMinor: 13, Event: EventAbort},
	{Verb: VerbClean, MinMinor: 15, Event: EventClean, NotMaintenance: true, NeedsSteps: true, DisableRamdisk: 70},
	{Verb: VerbAdopt, MinMinor: 17, Event: EventAdopt},
	{Verb: VerbRescue, MinMinor: 38, Event: EventRescue, NotMaintenance: true},
	{Verb: VerbUnrescue, MinMinor: 38, Event: EventUnrescue, NotMaintenance: true},
	{Verb: VerbUnhold, MinMinor: 85, Event: EventUnhold},
	{Verb: VerbService, MinMinor: 87, Event: EventService, NotMaintenance: true, NeedsSteps: true, DisableRamdisk: 108},
}

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
