package runner

import (
	"fmt"
	"strings"

	"ferrule/metal"
)

// flow is the name of the list of steps in the node's history.
func (r *run) flow() (name, eventType string) {
	name = r.verb().Flow
	return name, strings.ReplaceAll(name, " ", "_")
}

// flowStart and flowEnd put the list of steps into the history (Ironic:
// conductor/utils.log_step_flow_history).
func flowStart(r *run, _ task) (verdict, error) {
	name, eventType := r.flow()
	r.recordFlow("INFO", eventType+"_start", "Starting %s with steps=%s", name)
	return done, nil
}

func flowEnd(r *run, _ task) (verdict, error) {
	name, eventType := r.flow()
	r.recordFlow("INFO", eventType+"_end", "The %s completed successfully with steps=%s", name)
	return done, nil
}

// flowCut is the end of a list whose step failed or was aborted.
func (r *run) flowCut() {
	if s := r.step(); s != nil {
		name, eventType := r.flow()
		r.recordFlow("ERROR", eventType+"_end", "The %s ended at step "+s.Name()+" with steps=%s", name)
	}
}

func (r *run) recordFlow(severity, eventType, format, name string) {
	if !r.Settings.RecordFlows {
		return
	}
	steps := make([]metal.Step, len(r.plan.Steps))
	for i, s := range r.plan.Steps {
		if s.Args != nil {
			s.Args = masked(metal.ToJSON(s.Args))
		}
		steps[i] = s
	}
	r.history(severity, eventType, fmt.Sprintf(format, name, metal.ToJSON(steps)))
}
