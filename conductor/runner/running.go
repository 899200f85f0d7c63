package runner

import (
	"fmt"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

// runningCommand is a command of the ramdisk that was still running when the
// agent stopped waiting for it. Task is the one that sent it and that takes its
// result.
type runningCommand struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	Task  task       `json:"task"`
	Until *time.Time `json:"until,omitempty"` // when the verb's timeout is over; nil: never
}

func isRunning(c *metal.RamdiskCommand) bool {
	return c != nil && c.Status == metal.RamdiskRunning
}

// awaitCommand leaves the decision about t to the state of its command: the
// ramdisk is asked at each heartbeat until the command has ended.
func (r *run) awaitCommand(t task, c metal.RamdiskCommand) (verdict, error) {
	waits := task{Do: hardware.TaskRamdiskRunning, Args: metal.ToJSON(runningCommand{ID: c.ID, Name: c.Name, Task: t}), BestEffort: t.BestEffort}
	r.push(hardware.Fire(metal.EventWait), waits)
	return done, nil
}

func (r *run) runningOf(t task) (runningCommand, error) {
	var c runningCommand
	if err := t.Args.Decode(&c); err != nil {
		return c, fmt.Errorf("read which command of the ramdisk runs: %w", err)
	}
	return c, nil
}

// awaitRunning waits for the next heartbeat. The deadline is set once: a ramdisk
// that calls for ever does not move it.
func awaitRunning(r *run, t task) (verdict, error) {
	c, err := r.runningOf(t)
	if err != nil {
		return stay, err
	}
	if limit := r.callbackTimeout(); c.Until == nil && limit > 0 {
		at := r.Now.Add(limit)
		c.Until = &at
		r.plan.Current.Args = metal.ToJSON(c)
	}
	if r.plan.Beat {
		r.plan.Beat = false
		return r.askRamdisk("", nil, false)
	}
	if r.op.Deadline = c.Until; c.Until != nil {
		r.setTimer(*c.Until)
	}
	return stay, nil
}

// runningSeen looks for the command in the ramdisk's list. A list without it
// comes from a ramdisk that was restarted, and the command begins anew.
func runningSeen(r *run, t task, res metal.CommandResult) (verdict, error) {
	c, err := r.runningOf(t)
	if err != nil {
		return stay, err
	}
	list, err := ramdiskResult(res)
	if err != nil || list.Busy {
		return awaitRunning(r, t) // it is asked again at the next heartbeat
	}
	found := list.Find(c.ID)
	if isRunning(found) {
		return awaitRunning(r, t)
	}
	if _, err := fireEvent(r, hardware.Fire(metal.EventResume)); err != nil {
		return stay, err
	}
	if found == nil {
		return again(r, c.Task, metal.CommandResult{
			ErrorCode: metal.CodeOutcomeUnknown,
			Message:   fmt.Sprintf("the ramdisk does not list its command %s any more; it restarts again and again", c.Name),
		})
	}
	ended := metal.CommandResult{OK: true, ResultJSON: []byte(metal.ToJSON(metal.RamdiskCallResult{Command: found}))}
	if c.Task.Do == "ramdisk-steps" {
		return stepsCame(r, c.Task, ended)
	}
	return called(r, c.Task, ended)
}
