package runner

import (
	"context"
	"fmt"

	"ferrule/metal"
)

// Ending is how an operation ends whose entry cannot be handled.
type Ending string

// The endings, the gentlest first.
const (
	WithCleanUp Ending = "with clean-up"
	AtOnce      Ending = "at once"
	NotAtAll    Ending = "not at all"
)

// OperationOf is the id of the open operation that an entry belongs to; "" where
// there is none.
func OperationOf(w *World, e metal.InboxEntry) string {
	var named struct {
		OperationID string `json:"operationId"`
	}
	if e.Kind == metal.InboxPower {
		return ""
	}
	_ = e.Payload.Decode(&named) // an entry that cannot be read is the provision operation's
	for _, op := range w.Operations {
		if op.ID == named.OperationID || named.OperationID == "" && op.Axis == metal.AxisProvision {
			return op.ID
		}
	}
	return ""
}

// End ends an operation as failed, with text as the node's last_error. With
// clean-up it may go on for a while.
func End(ctx context.Context, w World, operationID, text string, how Ending) (Outcome, error) {
	out := Outcome{Node: w.Node, Operations: append([]metal.OperationRecord(nil), w.Operations...)}
	for i := range out.Operations {
		op := &out.Operations[i]
		if op.ID != operationID {
			continue
		}
		r := &run{World: w, ctx: ctx, op: op, node: &out.Node, out: &out}
		end := r.endAtOnce
		if how == WithCleanUp {
			end = r.endWithCleanUp
		}
		if err := end(text); err != nil {
			return out, err
		}
		op.Plan = metal.ToJSON(r.plan)
	}
	reserve(&out, w.Settings.Host)
	return out, nil
}

func (r *run) endWithCleanUp(text string) error {
	if r.op.Plan != "" {
		if err := r.op.Plan.Decode(&r.plan); err != nil {
			return fmt.Errorf("read the plan of operation %s: %w", r.op.ID, err)
		}
	}
	r.plan.Waiting = ""
	return r.fail(task{}, told(text))
}

// endAtOnce needs nothing of the plan, which may be what cannot be read.
func (r *run) endAtOnce(text string) error {
	err := told(text)
	switch r.op.Axis {
	case metal.AxisPower:
		r.powerFailed(err)
		return nil
	case metal.AxisAction:
		r.actionFailed(err)
		return nil
	}
	r.plan = plan{Failure: text}
	if _, err := failed(r, task{}); err != nil {
		// The state has no way to a failed one: it stays, and the node is free.
		r.node.LastError = &text
		r.close()
	}
	return nil
}
