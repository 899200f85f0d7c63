package link_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"ferrule/link"
	"ferrule/link/gateway"
	"ferrule/metal"
	"ferrule/trust"
)

// register is the control plane behind a gateway, in memory.
type register struct {
	mu       sync.Mutex
	codes    map[string]*joinCode // by secret hash
	agents   map[string]*gateway.Agent
	commands []metal.CommandRecord
	results  map[string]metal.CommandResult
	seen     []link.Observation
	sessions map[string]string // agent to session
	hellos   map[string]link.Hello
	secrets  map[string][]byte
	requests map[string]bool
	wakes    map[string]chan struct{}
	failing  error // what the next calls of Results give
	changed  chan struct{}
}

type joinCode struct {
	site    string
	expires time.Time
	agentID string
}

func newRegister() *register {
	return &register{
		codes: map[string]*joinCode{}, agents: map[string]*gateway.Agent{}, results: map[string]metal.CommandResult{},
		sessions: map[string]string{}, hellos: map[string]link.Hello{}, secrets: map[string][]byte{},
		requests: map[string]bool{}, wakes: map[string]chan struct{}{}, changed: make(chan struct{}),
	}
}

// update runs f under the lock and tells those who wait.
func (r *register) update(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

// await waits until the condition, checked under the lock, holds.
func (r *register) await(ctx context.Context, holds func() bool) bool {
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		r.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func (r *register) Join(_ context.Context, j gateway.Joining) (name trust.AgentName, err error) {
	r.update(func() {
		code := r.codes[j.SecretHash]
		switch {
		case code == nil || j.At.After(code.expires) || code.agentID != "" && !slices.Contains(r.agents[code.agentID].Keys, j.KeyHash):
			err = metal.Errorf(metal.Forbidden, "no such code")
			return
		case code.agentID == "":
			code.agentID = j.NewID
			r.agents[j.NewID] = &gateway.Agent{
				Name: trust.AgentName{ID: j.NewID, Site: code.site}, Keys: []string{j.KeyHash},
			}
		}
		name = r.agents[code.agentID].Name
	})
	return name, err
}

func (r *register) Agent(_ context.Context, id string) (gateway.Agent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	agent := r.agents[id]
	if agent == nil {
		return gateway.Agent{}, metal.Errorf(metal.NotFound, "no agent %s", id)
	}
	return gateway.Agent{Name: agent.Name, Keys: slices.Clone(agent.Keys)}, nil
}

func (r *register) AddKey(_ context.Context, id, key string) error {
	r.update(func() { r.agents[id].Keys = append(r.agents[id].Keys, key) })
	return nil
}

func (r *register) RetireKeysBefore(_ context.Context, id, key string) error {
	r.update(func() {
		agent := r.agents[id]
		agent.Keys = agent.Keys[max(0, slices.Index(agent.Keys, key)):]
	})
	return nil
}

func (r *register) SessionOpened(_ context.Context, a trust.AgentName, session string, hello link.Hello) error {
	r.update(func() { r.sessions[a.ID], r.hellos[a.ID] = session, hello })
	return nil
}

func (r *register) SessionClosed(_ context.Context, id, session string) error {
	r.update(func() {
		if r.sessions[id] == session {
			delete(r.sessions, id)
		}
	})
	return nil
}

func (r *register) DeliverCommands(_ context.Context, id string, after int64, limit int) ([]metal.CommandRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pending []metal.CommandRecord
	for i, c := range r.commands {
		if c.AgentID == id && c.Status != metal.CommandDone && c.Seq > after && len(pending) < limit {
			r.commands[i].Status = metal.CommandSent
			pending = append(pending, r.commands[i])
		}
	}
	return pending, nil
}

func (r *register) Subscribe(id string) (<-chan struct{}, func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wake := make(chan struct{}, 1)
	r.wakes[id] = wake
	return wake, func() {}
}

func (r *register) SaveResult(_ context.Context, id string, result metal.CommandResult, _ string) (err error) {
	r.update(func() {
		if err = r.failing; err != nil {
			r.failing = nil
			return
		}
		for i := range r.commands {
			if r.commands[i].ID == result.CommandID && r.commands[i].AgentID == id {
				r.commands[i].Status = metal.CommandDone
				r.results[result.CommandID] = result
				return
			}
		}
		err = metal.Errorf(metal.NotFound, "no command %s", result.CommandID)
	})
	return err
}

func (r *register) Observed(_ context.Context, _ trust.AgentName, seen []link.Observation) error {
	r.update(func() { r.seen = append(r.seen, seen...) })
	return nil
}

func (r *register) Secret(_ context.Context, ref, _ string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok := r.secrets[ref]; ok {
		return value, nil
	}
	return nil, metal.Errorf(metal.NotFound, "no secret %s", ref)
}

func (r *register) Command(_ context.Context, id string) (metal.CommandRecord, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.commands {
		if c.ID == id {
			return c, nil
		}
	}
	return metal.CommandRecord{}, metal.Errorf(metal.NotFound, "no command %s", id)
}

func (r *register) UseRequestID(_ context.Context, agent, id string, _ time.Time) (fresh bool, err error) {
	r.update(func() {
		fresh = !r.requests[agent+"/"+id]
		r.requests[agent+"/"+id] = true
	})
	return fresh, nil
}

// issue puts a command in the agent's queue and wakes its stream.
func (r *register) issue(record metal.CommandRecord) {
	r.update(func() {
		record.Seq, record.Status = int64(len(r.commands)+1), metal.CommandQueued
		r.commands = append(r.commands, record)
		select {
		case r.wakes[record.AgentID] <- struct{}{}:
		default:
		}
	})
}
