package ramdisk

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"ferrule/lab/event"
)

// The states of a command.
const (
	running         = "RUNNING"
	succeeded       = "SUCCEEDED"
	failed          = "FAILED"
	versionMismatch = "CLEAN_VERSION_MISMATCH" // for steps of every type
)

// result is a command as the API shows it.
type result struct {
	ID     string         `json:"id"`
	Name   string         `json:"command_name"`
	Status string         `json:"command_status"`
	Error  *commandError  `json:"command_error"`
	Result map[string]any `json:"command_result"`
}

type commandError struct {
	Type    string `json:"type"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Details string `json:"details"`
}

// command is one that was accepted.
type command struct {
	result
	done      chan struct{} // closed when the result is final
	delivered chan struct{} // closed when the answer to the request is on its way
}

// commandList keeps the commands of this boot in order. One runs at a time.
type commandList struct {
	mu       sync.Mutex
	commands []*command
}

func newCommandList() *commandList { return &commandList{} }

// begin adds a command unless the last one still runs.
func (l *commandList) begin(name string) (*command, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.commands); n > 0 && l.commands[n-1].Status == running {
		return nil, false
	}
	c := &command{
		result:    result{ID: uuid.NewString(), Name: name, Status: running},
		done:      make(chan struct{}),
		delivered: make(chan struct{}),
	}
	l.commands = append(l.commands, c)
	return c, true
}

func (l *commandList) finish(c *command, status string, value map[string]any, failure *commandError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.Status, c.Result, c.Error = status, value, failure
	close(c.done)
}

func (l *commandList) show(c *command) result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.result
}

func (l *commandList) all() []result {
	l.mu.Lock()
	defer l.mu.Unlock()
	results := make([]result, 0, len(l.commands))
	for _, c := range l.commands {
		results = append(results, c.result)
	}
	return results
}

func (l *commandList) find(id string) *command {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.commands {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// errVersionMismatch is a step asked of another version of the hardware
// manager.
var errVersionMismatch = errors.New("the hardware manager's version differs")

// run does the work of c and records what came of it. What the command leaves
// to be done after its answer was sent is returned.
func (a *agent) run(ctx context.Context, c *command, spec commandSpec, full string, p params) (after func()) {
	call := Call{Command: full, Step: p.stepName(), Args: p.object("step").object("args")}
	a.Log.Add(event.CommandStarted, "command", call.Command, "step", call.Step)
	value, after, err := a.perform(ctx, spec, call, p)
	status, failure := succeeded, (*commandError)(nil)
	switch {
	case errors.Is(err, errVersionMismatch):
		status, failure = versionMismatch, &commandError{"VersionMismatch", 500, "Hardware managers version mismatch", err.Error()}
	case err != nil:
		status, failure = failed, &commandError{"CommandExecutionError", 500, "Command execution failed", fmt.Sprintf("%s: %s", c.Name, err)}
	}
	if ctx.Err() != nil {
		// The power went: nobody sees the end of it.
		after = nil
	}
	a.Log.Add(event.CommandFinished, "command", call.Command, "step", call.Step, "status", status, "error", errorText(err))
	a.commands.finish(c, status, wrap(spec, c.Name, value), failure)
	if spec.async {
		a.forceHeartbeat()
	}
	return after
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (a *agent) perform(ctx context.Context, spec commandSpec, call Call, p params) (any, func(), error) {
	if a.Hook != nil {
		if err := a.Hook(ctx, call); err != nil {
			return nil, nil, err
		}
	}
	if node := p.nodeUUID(); node != "" && node != a.nodeUUID {
		return nil, nil, fmt.Errorf("the command is for node %s, this ramdisk serves node %s", node, a.nodeUUID)
	}
	return spec.do(a, ctx, p)
}

// wrap gives a text the object around it that clients expect.
func wrap(spec commandSpec, name string, value any) map[string]any {
	switch v := value.(type) {
	case map[string]any:
		return v
	case string:
		if spec.async {
			v = name + ": " + v
		}
		return map[string]any{"result": v}
	}
	return nil
}
