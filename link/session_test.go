package link_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ferrule/link"
	"ferrule/link/client"
	"ferrule/metal"
	"ferrule/trust"
)

func TestCommandGoesDownAndItsResultComesUp(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("edge", client.Options{})
	agent := c.Identity().AgentID()
	deliveries, _, _ := p.run(c)
	want := p.command(agent, "")
	got, err := c.Verifier().Verify(receive(t, deliveries).Envelope)
	check(t, err)
	if got.ID != want.ID || got.Request.Operation != metal.PowerGet {
		t.Errorf("delivered %+v, want %+v", got, want)
	}
	result := metal.CommandResult{CommandID: want.ID, OK: true, ResultJSON: []byte(`{"state":"power on"}`), FinishedAt: time.Now().UTC()}
	for range 2 { // a result that comes twice is taken once
		check(t, c.SendResult(limit(t), result))
	}
	p.update(func() {
		if r := p.results[want.ID]; !r.OK || string(r.ResultJSON) != string(result.ResultJSON) {
			t.Errorf("stored result is %+v", r)
		}
		if h := p.hellos[agent]; h.Hostname != "host-a" || h.Operations["redfish"][0] != metal.PowerGet {
			t.Errorf("stored hello is %+v", h)
		}
	})
}

func TestResultIsRepeatedUntilTaken(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("", client.Options{})
	command := p.command(c.Identity().AgentID(), "")
	p.update(func() { p.failing = errors.New("the database is away") })
	check(t, c.SendResult(limit(t), metal.CommandResult{CommandID: command.ID, OK: true}))
	err := c.SendResult(limit(t), metal.CommandResult{CommandID: "no-such-command"})
	var rejected *client.Rejected
	if !errors.As(err, &rejected) || rejected.Status != 404 {
		t.Errorf("result of an unknown command: %v, want a final 404", err)
	}
}

func TestSessionResumesAfterTheControlPlaneWasAway(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("", client.Options{})
	agent := c.Identity().AgentID()
	deliveries, _, _ := p.run(c)
	first := p.command(agent, "")
	receive(t, deliveries)
	check(t, c.SendResult(limit(t), metal.CommandResult{CommandID: first.ID, OK: true}))
	p.stop()
	if !p.await(limit(t), func() bool { return p.sessions[agent] == "" }) {
		t.Fatal("the session's end was not recorded")
	}
	second := p.command(agent, "")
	p.serve(p.address)
	got, err := c.Verifier().Verify(receive(t, deliveries).Envelope)
	check(t, err)
	if got.ID != second.ID {
		t.Errorf("after the break came %s, want %s: what is done does not come again", got.ID, second.ID)
	}
}

func TestCommandThatCouldNotBeTakenComesAgain(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("", client.Options{})
	p.command(c.Identity().AgentID(), "")
	var tries atomic.Int32
	taken := make(chan client.Delivery, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err := c.Run(ctx, hello(), func(_ context.Context, d client.Delivery) error {
			if tries.Add(1) < 3 {
				return errors.New("the journal's disk is full")
			}
			taken <- d
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	receive(t, taken)
	cancel()
	<-done
}

func TestRemovedAgentIsCutOff(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{true, false} {
		p := newPlane(t)
		c := p.join("", client.Options{})
		agent := c.Identity().AgentID()
		_, ended, _ := p.run(c)
		p.awaitOnline(agent)
		p.update(func() { delete(p.agents, agent) })
		if told {
			p.gateway.Drop(agent)
		}
		err := receive(t, ended)
		var rejected *client.Rejected
		if !errors.As(err, &rejected) || rejected.Code != trust.RefusedRevoked {
			t.Errorf("Run of a removed agent ended with %v", err)
		}
		if err := c.Observe(limit(t), []link.Observation{{Kind: link.ObservedPower}}); err == nil {
			t.Error("a removed agent was heard")
		}
		if n := len(p.gateway.Connected()); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	}
}

func TestNewerSessionReplacesTheOlder(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("", client.Options{})
	agent := c.Identity().AgentID()
	_, _, stopFirst := p.run(c)
	p.awaitOnline(agent)
	var first string
	p.update(func() { first = p.sessions[agent] })
	twin := p.connect(c.Identity(), client.Options{})
	_, _, stopTwin := p.run(twin)
	if !p.await(limit(t), func() bool { s := p.sessions[agent]; return s != "" && s != first }) {
		t.Fatal("the second session did not replace the first")
	}
	stopFirst()
	stopTwin()
}

func TestCertificateIsRenewedWhileConnected(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	var asked atomic.Int32
	c := p.join("edge", client.Options{RenewAt: func(*trust.AgentCredential) time.Time {
		if asked.Add(1) == 1 {
			return time.Now().Add(30 * time.Millisecond)
		}
		return time.Now().Add(time.Hour)
	}})
	before := c.Identity()
	agent := before.AgentID()
	var key string
	p.update(func() { key = p.agents[agent].Keys[0] })
	deliveries, _, _ := p.run(c)
	if !p.await(limit(t), func() bool { s := p.agents[agent].Keys; return len(s) == 1 && s[0] != key }) {
		t.Fatal("the old certificate is still in force")
	}
	command := p.command(agent, "")
	receive(t, deliveries)
	check(t, c.SendResult(limit(t), metal.CommandResult{CommandID: command.ID, OK: true}))

	old := p.connect(before, client.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := old.SendResult(ctx, metal.CommandResult{CommandID: command.ID, OK: false}); err == nil {
		t.Error("a superseded certificate was accepted")
	}
}

// An agent is not trusted to send only text that can be stored.
func TestWhatArrivesIsStorable(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("edge", client.Options{})
	sent := p.command(c.Identity().AgentID(), "")
	check(t, c.SendResult(limit(t), metal.CommandResult{
		CommandID: sent.ID, ResultJSON: []byte(`{"version":"1\u00000"}`), ErrorCode: metal.CodeBMCError, Message: "a\x00b",
	}))
	check(t, c.Observe(limit(t), []link.Observation{{
		Kind: link.ObservedPower, NodeUUID: "n", ErrorCode: metal.CodeUnreachable, Message: "a\x00b", SeenAt: time.Now().UTC(),
	}}))
	p.update(func() {
		if r := p.results[sent.ID]; string(r.ResultJSON) != "{\"version\":\"1\uFFFD0\"}" || r.Message != "a\uFFFDb" {
			t.Errorf("stored result is %s %q", r.ResultJSON, r.Message)
		}
		if len(p.seen) != 1 || p.seen[0].Message != "a\uFFFDb" {
			t.Errorf("observed %+v", p.seen)
		}
	})
}

func TestObservationsArrive(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("", client.Options{})
	seen := link.Observation{Kind: link.ObservedPower, NodeUUID: "n", PowerState: metal.PowerOff, SeenAt: time.Now().UTC()}
	check(t, c.Observe(limit(t), []link.Observation{seen}))
	p.update(func() {
		if len(p.seen) != 1 || p.seen[0] != seen {
			t.Errorf("observed %+v, want %+v", p.seen, seen)
		}
	})
	if err := c.Observe(limit(t), []link.Observation{{Kind: "weather", NodeUUID: "n", SeenAt: time.Now()}}); err == nil {
		t.Error("an observation of an unknown kind was taken")
	}
}
