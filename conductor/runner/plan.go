package runner

import (
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

// plan is the state of an operation between two turns; it is stored in
// OperationRecord.Plan.
type plan struct {
	Current *task        `json:"current,omitempty"` // waits for a result or a call
	Tasks   []task       `json:"tasks,omitempty"`   // what follows
	Waiting string       `json:"waiting,omitempty"` // id of the command under way
	Beat    bool         `json:"beat,omitempty"`    // the ramdisk called while nobody waited for it
	Steps   []metal.Step `json:"steps,omitempty"`
	Asked   []metal.Step `json:"asked,omitempty"`   // deploy steps that only the ramdisk may know
	Ramdisk bool         `json:"ramdisk,omitempty"` // one is booted for this operation
	Index   int          `json:"index"`             // of the step under way
	Media   string       `json:"media,omitempty"`   // name under which an ISO is published
	URL     string       `json:"url,omitempty"`     // where
	Failure string       `json:"failure,omitempty"` // set while the clean-up of a failure runs
	Aborted bool         `json:"aborted,omitempty"` // the failure is a user's abort
	InStep  bool         `json:"inStep,omitempty"`  // the failure came from a step
	Unsure  bool         `json:"unsure,omitempty"`  // whether the ramdisk was given the step under way
	DeadBMC bool         `json:"deadBmc,omitempty"` // clean-up spares a BMC that does not answer
	TimerAt *time.Time   `json:"timerAt,omitempty"` // the earliest timer that is set
	Version metal.JSON   `json:"version,omitempty"` // the ramdisk's hardware_manager_version
}

// task is one entry of the plan.
type task = hardware.Task

// verdict is how an action's turn ended.
type verdict int

const (
	done verdict = iota // go on with the next task
	stay                // wait for a result or a call
)

// action is what a task does.
type action struct {
	start  func(r *run, t task) (verdict, error)
	result func(r *run, t task, res metal.CommandResult) (verdict, error) // of the command that start issued
	signal func(r *run, t task, e metal.InboxEntry) (verdict, error)      // heartbeat or inspection data
	judges bool                                                           // result takes unknown outcomes too; else the task begins anew

	timesOut bool // the end of its wait is its end, and no failure
}

// actionGroups are all actions; each group is defined beside what it belongs to.
func actionGroups() []map[string]action {
	return []map[string]action{flowActions, bmcActions, actionActions, mediaActions, stepActions, partActions, rescueActions, inspectActions}
}

// actions finds the action of a task.
func actions(name string) (action, bool) {
	for _, group := range actionGroups() {
		if a, ok := group[name]; ok {
			return a, true
		}
	}
	return action{}, false
}
