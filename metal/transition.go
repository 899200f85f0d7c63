package metal

// Event is what moves a node from one provision state to the next.
type Event string

// The events. Some are fired by a user's verb, the others only by the
// conductor; Transition.Verb tells which.
const (
	EventAbort    Event = "abort"
	EventAdopt    Event = "adopt"
	EventClean    Event = "clean"
	EventDelete   Event = "delete"
	EventDeploy   Event = "deploy"
	EventDone     Event = "done"
	EventFail     Event = "fail"
	EventHold     Event = "hold"
	EventInspect  Event = "inspect"
	EventManage   Event = "manage"
	EventProvide  Event = "provide"
	EventRebuild  Event = "rebuild"
	EventRescue   Event = "rescue"
	EventResume   Event = "resume"
	EventService  Event = "service"
	EventUnhold   Event = "unhold"
	EventUnrescue Event = "unrescue"
	EventWait     Event = "wait"
)

// Transition is one row of the provision-state machine.
type Transition struct {
	From   State
	Event  Event
	To     State
	Target State // target_provision_state afterwards, unless the caller keeps its own
	Verb   Verb  // the API target that fires it; "" where only the conductor does
}

// Transitions is the whole machine.
func Transitions() []Transition { return transitions }

// Next is the transition that event takes from state s.
func Next(s State, event Event) (Transition, bool) {
	t, ok := transitionIndex[edge{s, event}]
	return t, ok
}

// VerbTransition is the transition that a user's verb takes from state s.
func VerbTransition(s State, v Verb) (Transition, bool) {
	for _, t := range transitions {
		if t.From == s && t.Verb == v && v != "" {
			return t, true
		}
	}
	return Transition{}, false
}

type edge struct {
	from  State
	event Event
}

var transitionIndex = func() map[edge]Transition {
	m := make(map[edge]Transition, len(transitions))
	for _, t := range transitions {
		m[edge{t.From, t.Event}] = t
	}
	return m
}()

var transitions = []Transition{
	{Active, EventDelete, Deleting, Available, VerbDeleted},
	{Active, EventRebuild, Deploying, Active, VerbRebuild},
	{Active, EventRescue, Rescuing, Rescue, VerbRescue},
	{Active, EventService, Servicing, Active, VerbService},
	{AdoptFailed, EventAdopt, Adopting, Active, VerbAdopt},
	{AdoptFailed, EventManage, Manageable, NoState, VerbManage},
	{Adopting, EventDone, Active, NoState, ""},
	{Adopting, EventFail, AdoptFailed, Active, ""},
	{Available, EventDeploy, Deploying, Active, VerbActive},
	{Available, EventManage, Manageable, NoState, VerbManage},
	{CleanFailed, EventManage, Manageable, NoState, VerbManage},
	{CleanHold, EventAbort, CleanFailed, Available, VerbAbort},
	{CleanHold, EventUnhold, CleanWait, Available, VerbUnhold},
	{CleanWait, EventAbort, CleanFailed, Available, VerbAbort},
	{CleanWait, EventFail, CleanFailed, Available, ""},
	{CleanWait, EventHold, CleanHold, Available, ""},
	{CleanWait, EventResume, Cleaning, Available, ""},
	{Cleaning, EventDone, Available, NoState, ""},
	{Cleaning, EventFail, CleanFailed, Available, ""},
	{Cleaning, EventHold, CleanHold, Available, ""},
	{Cleaning, EventManage, Manageable, NoState, ""},
	{Cleaning, EventWait, CleanWait, Available, ""},
	{Deleting, EventClean, Cleaning, Available, ""},
	{Deleting, EventFail, ErrorState, NoState, ""},
	{DeployFailed, EventDelete, Deleting, Available, VerbDeleted},
	{DeployFailed, EventDeploy, Deploying, Active, VerbActive},
	{DeployFailed, EventRebuild, Deploying, Active, VerbRebuild},
	{DeployHold, EventAbort, DeployFailed, Active, VerbAbort},
	{DeployHold, EventUnhold, DeployWait, Active, VerbUnhold},
	{Deploying, EventDone, Active, NoState, ""},
	{Deploying, EventFail, DeployFailed, Active, ""},
	{Deploying, EventHold, DeployHold, Active, ""},
	{Deploying, EventWait, DeployWait, Active, ""},
	{Enroll, EventManage, Verifying, Manageable, VerbManage},
	{ErrorState, EventDelete, Deleting, Available, VerbDeleted},
	{ErrorState, EventRebuild, Deploying, Active, VerbRebuild},
	{InspectFailed, EventInspect, Inspecting, Manageable, VerbInspect},
	{InspectFailed, EventManage, Manageable, NoState, VerbManage},
	{InspectWait, EventAbort, InspectFailed, Manageable, VerbAbort},
	{InspectWait, EventDone, Manageable, NoState, ""},
	{InspectWait, EventFail, InspectFailed, Manageable, ""},
	{InspectWait, EventResume, Inspecting, Manageable, ""},
	{Inspecting, EventDone, Manageable, NoState, ""},
	{Inspecting, EventFail, InspectFailed, Manageable, ""},
	{Inspecting, EventWait, InspectWait, Manageable, ""},
	{Manageable, EventAdopt, Adopting, Active, VerbAdopt},
	{Manageable, EventClean, Cleaning, Manageable, VerbClean},
	{Manageable, EventInspect, Inspecting, Manageable, VerbInspect},
	{Manageable, EventProvide, Cleaning, Available, VerbProvide},
	{Rescue, EventDelete, Deleting, Available, VerbDeleted},
	{Rescue, EventRescue, Rescuing, Rescue, VerbRescue},
	{Rescue, EventUnrescue, Unrescuing, Active, VerbUnrescue},
	{RescueFailed, EventDelete, Deleting, Available, VerbDeleted},
	{RescueFailed, EventRescue, Rescuing, Rescue, VerbRescue},
	{RescueFailed, EventUnrescue, Unrescuing, Active, VerbUnrescue},
	{RescueWait, EventAbort, RescueFailed, Rescue, VerbAbort},
	{RescueWait, EventDelete, Deleting, Available, VerbDeleted},
	{RescueWait, EventFail, RescueFailed, Rescue, ""},
	{RescueWait, EventResume, Rescuing, Rescue, ""},
	{Rescuing, EventDone, Rescue, NoState, ""},
	{Rescuing, EventFail, RescueFailed, Rescue, ""},
	{Rescuing, EventWait, RescueWait, Rescue, ""},
	{ServiceFailed, EventAbort, Active, NoState, VerbAbort},
	{ServiceFailed, EventDelete, Deleting, Available, VerbDeleted},
	{ServiceFailed, EventHold, ServiceHold, Active, ""},
	{ServiceFailed, EventRescue, Rescuing, Rescue, VerbRescue},
	{ServiceFailed, EventService, Servicing, Active, VerbService},
	{ServiceFailed, EventWait, ServiceWait, Active, ""},
	{ServiceHold, EventAbort, ServiceFailed, Active, VerbAbort},
	{ServiceHold, EventFail, ServiceFailed, Active, ""},
	{ServiceHold, EventService, Servicing, Active, VerbService},
	{ServiceHold, EventUnhold, ServiceWait, Active, VerbUnhold},
	{ServiceWait, EventAbort, ServiceFailed, Active, VerbAbort},
	{ServiceWait, EventDelete, Deleting, Available, VerbDeleted},
	{ServiceWait, EventFail, ServiceFailed, Active, ""},
	{ServiceWait, EventHold, ServiceHold, Active, ""},
	{ServiceWait, EventResume, Servicing, Active, ""},
	{Servicing, EventDone, Active, NoState, ""},
	{Servicing, EventFail, ServiceFailed, Active, ""},
	{Servicing, EventHold, ServiceHold, Active, ""},
	{Servicing, EventWait, ServiceWait, Active, ""},
	{UnrescueFailed, EventDelete, Deleting, Available, VerbDeleted},
	{UnrescueFailed, EventRescue, Rescuing, Rescue, VerbRescue},
	{UnrescueFailed, EventUnrescue, Unrescuing, Active, VerbUnrescue},
	{Unrescuing, EventDone, Active, NoState, ""},
	{Unrescuing, EventFail, UnrescueFailed, Active, ""},
	{Verifying, EventDone, Manageable, NoState, ""},
	{Verifying, EventFail, Enroll, NoState, ""},
	{DeployWait, EventAbort, DeployFailed, Active, VerbAbort},
	{DeployWait, EventDelete, Deleting, Available, VerbDeleted},
	{DeployWait, EventFail, DeployFailed, Active, ""},
	{DeployWait, EventHold, DeployHold, Active, ""},
	{DeployWait, EventResume, Deploying, Active, ""},
}
