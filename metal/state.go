package metal

// State is a node's provision state, spelled as it travels in the API.
type State string

// The provision states.
const (
	Active         State = "active"          // instance deployed
	AdoptFailed    State = "adopt failed"    // adoption failed
	Adopting       State = "adopting"        // adoption in progress
	Available      State = "available"       // schedulable
	CleanFailed    State = "clean failed"    // cleaning failed or was aborted
	CleanHold      State = "clean hold"      // cleaning paused by a hold step
	CleanWait      State = "clean wait"      // waiting for the agent during cleaning
	Cleaning       State = "cleaning"        // conductor works on a clean step
	Deleting       State = "deleting"        // tear down in progress
	DeployFailed   State = "deploy failed"   // deployment failed
	DeployHold     State = "deploy hold"     // deployment paused by a hold step
	Deploying      State = "deploying"       // conductor works on the deployment
	Enroll         State = "enroll"          // known, never verified
	ErrorState     State = "error"           // tear down failed
	InspectFailed  State = "inspect failed"  // inspection failed or aborted
	InspectWait    State = "inspect wait"    // waiting for inspection data
	Inspecting     State = "inspecting"      // inspection being worked on
	Manageable     State = "manageable"      // verified, not schedulable
	Rescue         State = "rescue"          // rescue ramdisk running
	RescueFailed   State = "rescue failed"   // rescue failed or aborted
	RescueWait     State = "rescue wait"     // waiting for the rescue ramdisk
	Rescuing       State = "rescuing"        // rescue in progress
	ServiceFailed  State = "service failed"  // servicing failed
	ServiceHold    State = "service hold"    // servicing paused by a hold step
	ServiceWait    State = "service wait"    // waiting for the agent during servicing
	Servicing      State = "servicing"       // conductor works on a service step
	UnrescueFailed State = "unrescue failed" // unrescue failed
	Unrescuing     State = "unrescuing"      // returning to the instance
	Verifying      State = "verifying"       // BMC credentials being checked
	DeployWait     State = "wait call-back"  // deployment waits for the agent (DEPLOYWAIT)
	NoState        State = ""                // no target
)

// Class says what a state is for those who wait on it.
type Class string

// The classes of states.
const (
	Stable    Class = "stable"
	Transient Class = "transient" // work or waiting is under way and will end by itself
	Hold      Class = "hold"      // paused until a user says unhold or abort
	Failure   Class = "failure"
)

// StateInfo is one row of the table of states.
type StateInfo struct {
	State         State
	Class         Class
	DefaultTarget State     // target_provision_state on entering; NoState for stable ones
	UpdateAllowed bool      // node PATCH passes although a target is set
	LookupAllowed bool      // the ramdisk may look up (with restrict_lookup)
	Waiting       bool      // waits for the ramdisk: no lock is held, a timeout runs
	Unstable      bool      // boot_mode and secure_boot requests are refused
	Heartbeat     Heartbeat // what a heartbeat of the ramdisk comes to
	History       string    // event_type of what happens in it; "" is provisioning
}

// Heartbeat is what a heartbeat of a node's ramdisk comes to in a state.
type Heartbeat string

// What heartbeats come to.
const (
	HeartbeatIgnored   Heartbeat = ""
	HeartbeatRecorded  Heartbeat = "recorded"
	HeartbeatFastTrack Heartbeat = "fast track" // recorded, where ramdisks stay up between operations
	// HeartbeatWakes: work waits for the ramdisk, or sends it something and may hear
	// of its end by a heartbeat.
	HeartbeatWakes Heartbeat = "wakes"
)

// States is the whole table of states.
func States() []StateInfo { return states }

var states = []StateInfo{
	{State: Active, Class: Stable},
	{State: AdoptFailed, Class: Failure, DefaultTarget: Active, UpdateAllowed: true},
	{State: Adopting, Class: Transient, DefaultTarget: Active, Unstable: true, History: "adoption"},
	{State: Available, Class: Stable, Heartbeat: HeartbeatFastTrack},
	{State: CleanFailed, Class: Failure, DefaultTarget: Available, UpdateAllowed: true},
	{State: CleanHold, Class: Hold, DefaultTarget: Available, Heartbeat: HeartbeatRecorded, History: "cleaning"},
	{State: CleanWait, Class: Transient, DefaultTarget: Available, LookupAllowed: true, Waiting: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "cleaning"},
	{State: Cleaning, Class: Transient, DefaultTarget: Available, LookupAllowed: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "cleaning"},
	{State: Deleting, Class: Transient, DefaultTarget: Available, Unstable: true, History: "unprovision"},
	{State: DeployFailed, Class: Failure, DefaultTarget: Active, UpdateAllowed: true},
	{State: DeployHold, Class: Hold, DefaultTarget: Active, Heartbeat: HeartbeatRecorded, History: "deploying"},
	{State: Deploying, Class: Transient, DefaultTarget: Active, LookupAllowed: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "deploying"},
	{State: Enroll, Class: Stable, Heartbeat: HeartbeatFastTrack},
	{State: ErrorState, Class: Stable, UpdateAllowed: true},
	{State: InspectFailed, Class: Failure, DefaultTarget: Manageable, UpdateAllowed: true},
	{State: InspectWait, Class: Transient, DefaultTarget: Manageable, UpdateAllowed: true, LookupAllowed: true, Waiting: true, Unstable: true, History: "introspection"},
	{State: Inspecting, Class: Transient, DefaultTarget: Manageable, UpdateAllowed: true, LookupAllowed: true, Unstable: true, History: "introspection"},
	{State: Manageable, Class: Stable, Heartbeat: HeartbeatFastTrack},
	{State: Rescue, Class: Stable},
	{State: RescueFailed, Class: Failure, DefaultTarget: Rescue, UpdateAllowed: true},
	{State: RescueWait, Class: Transient, DefaultTarget: Rescue, LookupAllowed: true, Waiting: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "rescue"},
	{State: Rescuing, Class: Transient, DefaultTarget: Rescue, LookupAllowed: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "rescue"},
	{State: ServiceFailed, Class: Failure, DefaultTarget: Active, UpdateAllowed: true},
	{State: ServiceHold, Class: Hold, DefaultTarget: Active, UpdateAllowed: true, Heartbeat: HeartbeatRecorded, History: "servicing"},
	{State: ServiceWait, Class: Transient, DefaultTarget: Active, LookupAllowed: true, Waiting: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "servicing"},
	{State: Servicing, Class: Transient, DefaultTarget: Active, Unstable: true, Heartbeat: HeartbeatWakes, History: "servicing"},
	{State: UnrescueFailed, Class: Failure, DefaultTarget: Active, UpdateAllowed: true},
	{State: Unrescuing, Class: Transient, DefaultTarget: Active, Unstable: true, History: "rescue"},
	{State: Verifying, Class: Transient, DefaultTarget: Manageable, UpdateAllowed: true, Unstable: true, History: "verify"},
	{State: DeployWait, Class: Transient, DefaultTarget: Active, LookupAllowed: true, Waiting: true, Unstable: true, Heartbeat: HeartbeatWakes, History: "deploying"},
}

var stateIndex = func() map[State]StateInfo {
	m := make(map[State]StateInfo, len(states))
	for _, s := range states {
		m[s.State] = s
	}
	return m
}()

// Info is the table's row of s.
func (s State) Info() (StateInfo, bool) {
	info, ok := stateIndex[s]
	return info, ok
}

// Is reports whether s is one of the given states.
func (s State) Is(any ...State) bool {
	for _, t := range any {
		if s == t {
			return true
		}
	}
	return false
}
