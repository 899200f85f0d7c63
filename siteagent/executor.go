package siteagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"ferrule/failpoint"
	"ferrule/hardware"
	"ferrule/link/client"
	"ferrule/metal"
	"ferrule/siteagent/journal"
	"ferrule/siteagent/media"
	"ferrule/siteagent/ramdisk"
	"ferrule/siteagent/refusal"
	"ferrule/siteagent/watch"
	"ferrule/trust"
)

// maxResult is the largest result that fits the wire once it is signed.
const maxResult = 2 << 20

// executor takes commands from delivery to result.
type executor struct {
	link    Link
	drivers Drivers
	journal *journal.Journal
	media   *media.Shelf
	ramdisk *ramdisk.Client
	watch   *watch.Watch
	base    func() string // the agent's own address, as machines and BMCs see it
	workDir string
	timeout time.Duration // of one command
	log     *slog.Logger

	accept context.Context // ends when nothing more may begin
	ctx    context.Context // ends when running commands must give up
	lanes  *lanes
	sends  sync.WaitGroup

	mu    sync.Mutex
	taken map[string]bool // commands between delivery and the journal's note of their end
}

// handle takes charge of one delivery. It never waits for a BMC.
func (e *executor) handle(ctx context.Context, d client.Delivery) error {
	cmd, err := e.link.Verify(d.Envelope)
	if err != nil {
		return e.refuse(ctx, err)
	}
	failpoint.Hit("after-verify")
	if !e.take(cmd.ID) {
		return nil // delivered again while it runs: its result will answer both
	}
	to := laneOf(cmd)
	e.lanes.add(to, func() {
		result, ended := e.run(cmd)
		e.release(cmd.ID)
		if ended {
			e.lanes.silences.note(to.key, result.ErrorCode)
			e.send(result)
		}
	})
	return nil
}

func (e *executor) take(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.taken[id] {
		return false
	}
	e.taken[id] = true
	return true
}

func (e *executor) running(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken[id]
}

func (e *executor) release(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.taken, id)
}

// refuse answers a delivery that is not to be obeyed. One that has expired may
// be an old one whose answer was lost; the journal knows.
func (e *executor) refuse(ctx context.Context, err error) error {
	var refused *trust.Refusal
	if !errors.As(err, &refused) {
		return fmt.Errorf("verify command: %w", err)
	}
	id := refused.CommandID
	e.log.WarnContext(ctx, "command refused", "command", id, "reason", refused.Code, "error", err)
	if id == "" || e.running(id) {
		return nil
	}
	result := failure(metal.CodeInvalidPayload, "the agent refuses the command: "+refused.Text)
	if refused.Code == trust.RefusedExpired {
		result = e.answerExpired(id, result)
	}
	result.CommandID = id
	e.send(result)
	return nil
}

func (e *executor) answerExpired(id string, refusal metal.CommandResult) metal.CommandResult {
	state, stored, err := e.journal.Lookup(id)
	switch {
	case err != nil:
		e.log.Error("journal cannot be read", "command", id, "error", err)
		return unknownOutcome()
	case state == journal.Done:
		return *stored
	case state == journal.Begun, e.journal.Forgot(time.Now().Add(-journal.Keep)):
		return unknownOutcome()
	default:
		return refusal
	}
}

// run does one command, or answers from the journal if that was done before.
// It reports false where there is no result: the agent stops, and the command
// comes again.
func (e *executor) run(cmd metal.Command) (metal.CommandResult, bool) {
	log := e.log.With("command", cmd.ID, "node", cmd.NodeUUID, "operation", cmd.Request.Operation)
	state, stored, err := e.journal.Lookup(cmd.ID)
	switch {
	case err != nil:
		log.Error("journal cannot be read", "error", err)
		return e.finish(cmd, unknownOutcome()), true
	case state == journal.Done:
		return *stored, true
	case state == journal.Begun && !repeatable(cmd), state == journal.Unknown && !repeatable(cmd) && e.journal.Forgot(cmd.IssuedAt):
		return e.finish(cmd, unknownOutcome()), true
	default:
		return e.act(log, cmd)
	}
}

// act does what has not been done yet. Nothing that touches the metal comes
// before the journal's note, and nothing but that comes after it.
func (e *executor) act(log *slog.Logger, cmd metal.Command) (metal.CommandResult, bool) {
	secrets, err := e.fetchSecrets(e.accept, cmd)
	defer secrets.wipe()
	if e.accept.Err() != nil {
		return metal.CommandResult{}, false
	}
	if err != nil {
		log.Warn("secrets of a command are not to be had", "error", err)
		return e.finish(cmd, failure(refusal.CodeOf(err, metal.CodeCredentialsUnavailable), err.Error())), true
	}
	failpoint.Hit("secrets-fetched")
	if now := time.Now(); !now.Before(cmd.ExpiresAt) {
		return e.finish(cmd, failure(metal.CodeInvalidPayload, fmt.Sprintf(
			"the command expired before its turn came: at %s by the control plane's clock, and this agent's clock says %s",
			cmd.ExpiresAt.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339)))), true
	}
	if err := e.note(cmd); err != nil {
		log.Error("journal cannot be written; the command is not done", "error", err)
		return e.finish(cmd, failure(metal.CodeInvalidConfig, "the agent cannot write its journal, so it does nothing: "+err.Error())), true
	}
	failpoint.Hit("journal-begun")
	began := time.Now()
	until := e.ctx
	if repeatable(cmd) {
		until = e.accept // a stop waits for nothing that can be done again
	}
	ctx, cancel := context.WithTimeout(until, e.timeout)
	defer cancel()
	result := e.perform(ctx, log, cmd, secrets)
	failpoint.Hit("acted")
	if until.Err() != nil && !result.OK {
		log.Warn("command was cut off by the agent's stop; its outcome is unknown")
		return metal.CommandResult{}, false
	}
	level := slog.LevelInfo
	if cmd.Kind == metal.KindWatch && result.OK {
		level = slog.LevelDebug // leases of the power watch, every few minutes for each node
	}
	log.Log(ctx, level, "command done", "ok", result.OK, "code", result.ErrorCode, "message", metal.HideUserinfo(result.Message), "took", time.Since(began))
	return e.finish(cmd, result), true
}

// note writes down that the command begins. One that may be repeated at will
// needs no note to be done.
func (e *executor) note(cmd metal.Command) error {
	if cmd.Kind == metal.KindWatch {
		return nil
	}
	err := e.journal.Begin(cmd.ID, cmd.ExpiresAt, !repeatable(cmd))
	if err != nil && repeatable(cmd) {
		e.log.Error("journal cannot be written", "command", cmd.ID, "error", err)
		return nil
	}
	return err
}

// cheaplyRepeated reports whether a result is not worth its place in the
// journal: leases come again every few minutes for each node, and inventories
// are long; both are as good when they are made again.
func cheaplyRepeated(cmd metal.Command, result metal.CommandResult) bool {
	return cmd.Kind == metal.KindWatch || repeatable(cmd) && len(result.ResultJSON) > maxJournaled
}

// maxJournaled is the largest result that is kept of a repeatable command.
const maxJournaled = 64 << 10

// perform acts, and turns a panic into a result: one bad answer of a BMC must
// not take a whole site down.
func (e *executor) perform(ctx context.Context, log *slog.Logger, cmd metal.Command, s secrets) (result metal.CommandResult) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("command panicked", "panic", p, "stack", string(debug.Stack()))
			result = unknownOutcome()
		}
	}()
	if cmd.Request.Operation == metal.PowerSet {
		defer e.watch.Acted(cmd.NodeUUID)
	}
	return e.dispatch(ctx, cmd, s)
}

// finish completes a command's result and stores it.
func (e *executor) finish(cmd metal.Command, result metal.CommandResult) metal.CommandResult {
	if len(result.ResultJSON) > maxResult {
		result = failure(metal.CodeBMCError, fmt.Sprintf("the result of %s has %d bytes, more than the %d that can be sent", cmd.Request.Operation, len(result.ResultJSON), maxResult))
	}
	result = result.Storable()
	result.CommandID, result.FinishedAt = cmd.ID, time.Now().UTC()
	result.Message = metal.HideUserinfo(result.Message)
	if cheaplyRepeated(cmd, result) {
		return result
	}
	if err := e.journal.Finish(result, cmd.ExpiresAt, !repeatable(cmd)); err != nil {
		e.log.Error("result cannot be written to the journal", "command", cmd.ID, "error", err)
	}
	failpoint.Hit("journal-result")
	return result
}

// send hands a result in without holding up the lane: that can take as long as
// the control plane is away. A command that is delivered again meanwhile is
// answered from the journal.
func (e *executor) send(result metal.CommandResult) {
	if result.FinishedAt.IsZero() {
		result.FinishedAt = time.Now().UTC()
	}
	e.sends.Go(func() {
		failpoint.Hit("before-send-result")
		err := e.link.SendResult(e.ctx, result)
		switch {
		case e.ctx.Err() != nil && err != nil:
			return // stopping: it is in the journal and asked for again
		case err != nil:
			e.log.Error("result was not handed in", "command", result.CommandID, "error", err)
			return
		}
		failpoint.Hit("result-sent")
	})
}

// repeatable reports whether doing the command twice is as good as once.
func repeatable(cmd metal.Command) bool {
	if cmd.Request.Operation == metal.RamdiskCall {
		var args metal.RamdiskCallArgs
		return json.Unmarshal(cmd.Request.ArgsJSON, &args) == nil && args.Command == "" // a list
	}
	kind, ok := metal.KindOf(cmd.Kind)
	return ok && kind.Resend == metal.ResendFreely
}

// laneOf is the lane of a command: that of its BMC, or of the node for what
// reaches no BMC.
func laneOf(cmd metal.Command) lane {
	concern := cmd.Request.Operation.Concern()
	switch {
	case cmd.Kind == metal.KindWatch:
		return lane{key: "watch " + cmd.NodeUUID}
	case cmd.Request.Driver == "":
		return lane{key: string(concern) + " " + cmd.NodeUUID, files: concern == metal.MediaPublish.Concern()}
	case cmd.Request.Address == "":
		return lane{key: "node " + cmd.NodeUUID}
	default:
		return bmcLane(cmd.Request)
	}
}

// bmcLane is the lane of a request's BMC: several systems behind one share it,
// however its address is spelled.
func bmcLane(req metal.Request) lane {
	e, why := hardware.ParseEndpoint(req.Address)
	if why != "" {
		return lane{key: "bmc " + req.Address} // the driver refuses it
	}
	return lane{key: "bmc " + net.JoinHostPort(e.Host, e.Port)}
}

func failure(code metal.ErrorCode, message string) metal.CommandResult {
	return metal.CommandResult{ErrorCode: code, Message: message}
}

func unknownOutcome() metal.CommandResult {
	return failure(metal.CodeOutcomeUnknown, "the agent was interrupted while it did this command and cannot tell how it ended; look at the machine")
}
