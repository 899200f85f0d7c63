package runner

import (
	"context"
	"fmt"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

// run is one turn for one operation.
type run struct {
	World
	ctx  context.Context //nolint:containedctx // of this one turn
	op   *metal.OperationRecord
	plan plan
	node *metal.Node
	out  *Outcome
}

// Advance handles one inbox entry of a node. The end of ctx cuts inspection rules
// short.
func Advance(ctx context.Context, w World, entry metal.InboxEntry) (Outcome, error) {
	out := Outcome{Node: w.Node, Operations: append([]metal.OperationRecord(nil), w.Operations...)}
	if entry.Kind == metal.InboxPower {
		seePower(w, &out, entry)
		return out, nil
	}
	for i := range out.Operations {
		op := &out.Operations[i]
		if op.Plan == "" && !begins(op, entry) {
			continue // its own verb comes yet
		}
		r := &run{World: w, ctx: ctx, op: op, node: &out.Node, out: &out}
		if op.Plan != "" {
			if err := op.Plan.Decode(&r.plan); err != nil {
				return out, fmt.Errorf("read the plan of operation %s: %w", op.ID, err)
			}
		}
		if err := r.take(entry); err != nil {
			return out, err
		}
		op.Plan = metal.ToJSON(r.plan)
	}
	reserve(&out, w.Settings.Host)
	return out, nil
}

// begins reports whether the entry is the one that the operation waits for to
// begin.
func begins(op *metal.OperationRecord, e metal.InboxEntry) bool {
	var p metal.VerbPayload
	return e.Kind == metal.InboxVerb && e.Payload.Decode(&p) == nil && p.OperationID == op.ID
}

// reserve sets the lock that clients see: while work is under way, not while
// it waits for somebody else.
func reserve(out *Outcome, host string) {
	held := false
	for _, op := range out.Operations {
		if op.FinishedAt != nil {
			continue
		}
		held = held || op.Axis.Reserves(out.Node.ProvisionState)
	}
	switch {
	case !held:
		out.Node.Reservation = nil
	case out.Node.Reservation == nil:
		out.Node.Reservation = &host
	}
}

// take hands the entry to the operation, where it is for it.
func (r *run) take(e metal.InboxEntry) error {
	if r.op.FinishedAt != nil {
		return nil
	}
	switch e.Kind {
	case metal.InboxVerb:
		return r.takeVerb(e)
	case metal.InboxResult:
		return r.takeResult(e)
	case metal.InboxHeartbeat, metal.InboxInspection:
		return r.takeCall(e)
	case metal.InboxTimer:
		return r.takeTimer(e)
	}
	return nil
}

func (r *run) takeVerb(e metal.InboxEntry) error {
	var p metal.VerbPayload
	if err := e.Payload.Decode(&p); err != nil {
		return fmt.Errorf("read a verb: %w", err)
	}
	if p.OperationID != r.op.ID {
		return nil
	}
	if signal, ok := verbSignals[metal.Verb(p.Verb)]; ok {
		return signal(r)
	}
	if r.op.Plan != "" {
		return nil // begun already
	}
	tasks, err := r.begin()
	if err != nil {
		return r.fail(task{}, err)
	}
	r.plan.Tasks = tasks
	return r.loop()
}

func (r *run) takeResult(e metal.InboxEntry) error {
	var p metal.ResultPayload
	if err := e.Payload.Decode(&p); err != nil {
		return fmt.Errorf("read a result: %w", err)
	}
	if p.OperationID != r.op.ID || p.CommandID != r.plan.Waiting || r.plan.Current == nil {
		return nil // of a command that nobody waits for any more
	}
	r.plan.Waiting = ""
	r.op.Deadline = nil
	t := *r.plan.Current
	a, _ := actions(t.Do)
	switch {
	case p.Result.ErrorCode == metal.CodeOutcomeUnknown && !a.judges:
		a.result = again
	case a.result == nil:
		a.result = plainResult
	}
	v, err := a.result(r, t, p.Result)
	return r.after(t, v, err)
}

// takeCall hands a call of the ramdisk to the task that waits for it. A
// heartbeat that comes while a command is under way is remembered: it may tell
// that the step just sent has ended already.
func (r *run) takeCall(e metal.InboxEntry) error {
	if r.op.Axis != metal.AxisProvision {
		return nil
	}
	t := r.plan.Current
	if t != nil && r.plan.Waiting == "" {
		if a, _ := actions(t.Do); a.signal != nil {
			v, err := a.signal(r, *t, e)
			return r.after(*t, v, err)
		}
	}
	if e.Kind == metal.InboxHeartbeat {
		r.plan.Beat = true
	}
	return nil
}

func (r *run) takeTimer(e metal.InboxEntry) error {
	var p metal.TimerPayload
	if err := e.Payload.Decode(&p); err != nil {
		return fmt.Errorf("read a timer: %w", err)
	}
	if p.OperationID != r.op.ID {
		return nil
	}
	if r.plan.TimerAt != nil && !r.plan.TimerAt.After(p.Deadline) {
		r.plan.TimerAt = nil
	}
	switch {
	case r.op.Deadline == nil:
		return nil
	case r.op.Deadline.After(r.Now):
		r.setTimer(*r.op.Deadline)
		return nil
	case r.node.Maintenance && r.plan.Waiting == "":
		r.wait(time.Minute) // nobody's timeout runs out in maintenance
		return nil
	}
	t := task{}
	if r.plan.Current != nil {
		t = *r.plan.Current
	}
	if a, ok := actions(t.Do); ok && a.timesOut {
		return r.after(t, done, nil)
	}
	err := r.timeoutError()
	r.plan.Waiting = ""
	return r.fail(t, err)
}

func (r *run) timeoutError() error {
	if r.plan.Waiting != "" {
		return fmt.Errorf("the site agent %s did not answer command %s (%s) in time; see whether it is connected",
			r.AgentID, r.plan.Waiting, r.plan.Current.Do)
	}
	return fmt.Errorf("Timeout reached while waiting for callback for node %s", r.node.UUID)
}

// after carries on where an action's turn has ended.
func (r *run) after(t task, v verdict, err error) error {
	if err != nil {
		return r.fail(t, err)
	}
	if v == stay {
		return nil
	}
	r.plan.Current = nil
	r.op.Deadline = nil
	return r.loop()
}

// loop takes tasks until one waits or the operation closes.
func (r *run) loop() error {
	for r.op.FinishedAt == nil && len(r.plan.Tasks) > 0 {
		t := r.plan.Tasks[0]
		r.plan.Tasks = r.plan.Tasks[1:]
		a, ok := actions(t.Do)
		if !ok {
			return fmt.Errorf("operation %s has the unknown task %q", r.op.ID, t.Do)
		}
		r.plan.Current = &t
		v, err := a.start(r, t)
		if err != nil {
			if !t.BestEffort {
				return r.fail(t, err)
			}
			v = done
		}
		if v == stay {
			return nil
		}
		r.plan.Current = nil
	}
	return nil
}

// push puts tasks before those that are left.
func (r *run) push(tasks ...task) {
	r.plan.Tasks = append(append([]task(nil), tasks...), r.plan.Tasks...)
}

// wait sets the deadline of the wait that begins; 0 waits without end.
func (r *run) wait(d time.Duration) {
	if d <= 0 {
		r.op.Deadline = nil
		return
	}
	at := r.Now.Add(d)
	r.op.Deadline = &at
	r.setTimer(at)
}

// setTimer sees that some timer fires at or before at; a timer that fires too
// early finds the later deadline and is set again.
func (r *run) setTimer(at time.Time) {
	if r.plan.TimerAt != nil && !r.plan.TimerAt.After(at) && r.plan.TimerAt.After(r.Now) {
		return
	}
	r.plan.TimerAt = &at
	r.out.Timers = append(r.out.Timers, metal.TimerPayload{OperationID: r.op.ID, Deadline: at})
}

// machine is the node with the rows of its interfaces.
func (r *run) machine() hardware.Machine { return r.Catalogue.Machine(r.node) }

// command issues one command for the current task and waits for its result.
func (r *run) command(req metal.Request, args any, extra time.Duration) (verdict, error) {
	if r.AgentID == "" {
		return stay, fmt.Errorf("no site agent serves driver %s at site %q; join one, or see that it is connected",
			r.node.Driver, r.node.ConductorGroup)
	}
	if args != nil {
		req.ArgsJSON = []byte(metal.ToJSON(args))
	}
	if err := req.CheckSecrets(r.node.UUID); err != nil {
		return stay, err
	}
	id := r.NewID()
	timeout := r.Settings.CommandTimeout + extra
	r.out.Commands = append(r.out.Commands, Order{
		ID: id, OperationID: r.op.ID, AgentID: r.AgentID, Request: req, Expires: r.Now.Add(timeout),
	})
	r.plan.Waiting = id
	if r.AgentID != metal.LocalAgent {
		r.wait(timeout)
	}
	return stay, nil
}

// mostRepeats is how often in a row an outcome may be unknown before the agent
// is taken to be unable to tell any: more often than anybody kills it.
const mostRepeats = 100

// again begins the task anew, its outcome being unknown. That does no harm: an
// operation names a wanted state and looks before it acts, or only reads.
func again(r *run, t task, res metal.CommandResult) (verdict, error) {
	if t.Repeats++; t.Repeats > mostRepeats {
		return stay, refusal{res}
	}
	r.push(t)
	return done, nil
}

// plainResult takes a result whose value nobody needs.
func plainResult(_ *run, t task, res metal.CommandResult) (verdict, error) {
	if !res.OK && !t.BestEffort {
		return stay, refusal{res}
	}
	return done, nil
}

// refusal is a result that is not OK, as an error.
type refusal struct{ metal.CommandResult }

func (e refusal) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return string(e.ErrorCode)
}
