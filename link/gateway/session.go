package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"ferrule/failpoint"
	"ferrule/link"
	"ferrule/metal"
	"ferrule/trust"
)

// Why sessions end.
var (
	errStopping = errors.New("the gateway is stopping")
	errReplaced = errors.New("the agent has opened another session")
	errRemoved  = errors.New("the agent has been removed")
)

// lineTimeout is how long a peer may take to accept a line.
const lineTimeout = 15 * time.Second

// pendingBatch is how many commands are read at once.
const pendingBatch = 100

// session is one agent's stream.
type session struct {
	id    string
	from  trust.Signer
	end   context.CancelCauseFunc
	write func(link.Line) error
	after int64
}

// take makes s the session of its agent; one that was before ends.
func (g *Gateway) take(s *session) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopping {
		return metal.Errorf(metal.Unavailable, "the gateway is stopping")
	}
	if before := g.sessions[s.from.Agent.ID]; before != nil {
		before.end(errReplaced)
	}
	g.sessions[s.from.Agent.ID] = s
	return nil
}

func (g *Gateway) leave(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[s.from.Agent.ID] == s {
		delete(g.sessions, s.from.Agent.ID)
	}
}

// Drop ends the session of an agent that was removed, at once. Gateways in
// other processes see it at their next look at the register.
func (g *Gateway) Drop(agentID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[agentID]; s != nil {
		s.end(errRemoved)
	}
}

// Connected are the ids of the agents with a session here.
func (g *Gateway) Connected() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := make([]string, 0, len(g.sessions))
	for id := range g.sessions {
		ids = append(ids, id)
	}
	return ids
}

// setStopping opens the gateway to sessions, or ends them all.
func (g *Gateway) setStopping(stopping bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopping = stopping
	if !stopping {
		return
	}
	for _, s := range g.sessions {
		s.end(errStopping)
	}
}

func (g *Gateway) serveSession(w http.ResponseWriter, r *http.Request, from trust.Signer) error {
	var hello link.Hello
	if err := readJSON(w, r, &hello); err != nil {
		return err
	}
	after, err := resumeCursor(r)
	if err != nil {
		return err
	}
	// The body is here; from now on silence from the agent is no fault.
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("lift read deadline: %w", err)
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	s := &session{id: uuid.NewString(), from: from, end: end, write: lineWriter(w), after: after}
	if err := g.take(s); err != nil {
		return err
	}
	defer g.leave(s)
	if err := g.Sessions.SessionOpened(ctx, from.Agent, s.id, hello); err != nil {
		return fmt.Errorf("open session of agent %s: %w", from.Agent.ID, err)
	}
	log := g.log.With("agent", from.Agent.ID, "site", from.Agent.Site, "session", s.id)
	log.InfoContext(ctx, "agent is on line", "hostname", hello.Hostname, "version", hello.Version)
	defer g.closed(context.WithoutCancel(ctx), log, s)
	w.Header().Set("Content-Type", link.TypeLines)
	w.Header().Set("Cache-Control", "no-store")
	err = g.stream(ctx, s)
	log.InfoContext(r.Context(), "agent's session ended", "cause", err)
	return nil // the answer has begun: there is no other
}

// closed records the end of a session. It is tried until it is recorded: an agent
// with a session is alive as long as this process is. One that stops need not.
func (g *Gateway) closed(ctx context.Context, log *slog.Logger, s *session) {
	for {
		err := g.recordClosed(ctx, s)
		if err == nil {
			return
		}
		if metal.ReasonOf(err) != metal.Outage {
			log.ErrorContext(ctx, "end of session could not be recorded", "error", err)
		}
		if g.isStopping() {
			return
		}
		<-time.After(g.Poll)
	}
}

func (g *Gateway) recordClosed(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return g.Sessions.SessionClosed(ctx, s.from.Agent.ID, s.id)
}

func (g *Gateway) isStopping() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopping
}

func resumeCursor(r *http.Request) (int64, error) {
	text := r.URL.Query().Get(link.ParamAfter)
	if text == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, malformed(err, "the resume cursor is not a number")
	}
	return after, nil
}

// lineWriter writes whole lines and sees that they leave.
func lineWriter(w http.ResponseWriter) func(link.Line) error {
	control := http.NewResponseController(w)
	return func(line link.Line) error {
		text, err := json.Marshal(line)
		if err != nil {
			return err
		}
		if err := control.SetWriteDeadline(time.Now().Add(lineTimeout)); err != nil {
			return err
		}
		if _, err := w.Write(append(text, '\n')); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
		return control.SetWriteDeadline(time.Time{})
	}
}

// stream sends what there is, then what comes, until the session ends.
func (g *Gateway) stream(ctx context.Context, s *session) error {
	wake, stop := g.Commands.Subscribe(s.from.Agent.ID)
	defer stop()
	err := s.write(link.Line{Welcome: &link.Welcome{
		SessionID: s.id, KeepAliveSeconds: g.KeepAlive.Seconds(), Time: g.CA.Now().UTC(),
	}})
	if err != nil {
		return err
	}
	poll := time.NewTicker(g.Poll)
	defer poll.Stop()
	keepAlive := time.NewTicker(g.KeepAlive)
	defer keepAlive.Stop()
	for {
		if err := g.sendPending(ctx, s); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-wake:
		case <-poll.C:
			if err := g.admit(ctx, s.from); err != nil {
				return err
			}
		case <-keepAlive.C:
			now := g.CA.Now().UTC()
			if err := s.write(link.Line{KeepAlive: &now}); err != nil {
				return err
			}
		}
	}
}

// sendPending sends what comes after the session's cursor.
func (g *Gateway) sendPending(ctx context.Context, s *session) error {
	for {
		pending, err := g.Commands.DeliverCommands(ctx, s.from.Agent.ID, s.after, pendingBatch)
		if err != nil {
			return fmt.Errorf("read commands: %w", err)
		}
		for _, command := range pending {
			failpoint.Hit("gateway-before-send")
			if err := s.write(link.Line{Seq: command.Seq, Envelope: command.Envelope}); err != nil {
				return err
			}
			s.after = command.Seq
			failpoint.Hit("gateway-after-send")
		}
		if len(pending) < pendingBatch {
			return nil
		}
	}
}
