package conductor

import (
	"context"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"ferrule/metal"
	"ferrule/store"
)

// directory knows which agent serves a node. It re-reads the conductors once a
// second, and whenever it finds none on line, who may just have come: an agent
// that has just gone keeps its commands queued for it.
type directory struct {
	store   *store.Store
	timeout time.Duration

	mu   sync.Mutex
	list []metal.Conductor
	read time.Time
}

func newDirectory(s *store.Store, timeout time.Duration) *directory {
	return &directory{store: s, timeout: timeout}
}

const directoryAge = time.Second

func (d *directory) conductors(ctx context.Context) ([]metal.Conductor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.read) < directoryAge {
		return d.list, nil
	}
	list, err := d.store.Conductors(ctx)
	if err != nil {
		return nil, err
	}
	d.list, d.read = list, time.Now()
	return list, nil
}

// forget makes the next look a fresh one.
func (d *directory) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = time.Time{}
}

// agentFor is the agent of the node's site that serves its hardware type: one
// on line where there is one, always the same for the same node; else one that
// is away and will find its commands when it is back; "" where there is none.
func (d *directory) agentFor(ctx context.Context, n *metal.Node) (string, error) {
	if metal.HostOf(n.Driver) == metal.HostedHere {
		return metal.LocalAgent, nil
	}
	agent, alive, err := d.look(ctx, n)
	if err != nil || alive {
		return agent, err
	}
	d.forget()
	agent, _, err = d.look(ctx, n)
	return agent, err
}

func (d *directory) look(ctx context.Context, n *metal.Node) (agent string, alive bool, err error) {
	list, err := d.conductors(ctx)
	if err != nil {
		return "", false, err
	}
	now := time.Now()
	best, bestAlive, bestRank := "", false, uint64(0)
	for _, c := range list {
		if c.AgentID == "" || c.ConductorGroup != n.ConductorGroup || !slices.Contains(c.Drivers, n.Driver) {
			continue
		}
		alive, rank := c.Alive(now, d.timeout), rendezvous(n.UUID, c.AgentID)
		if best == "" || alive && !bestAlive || alive == bestAlive && rank > bestRank {
			best, bestAlive, bestRank = c.AgentID, alive, rank
		}
	}
	return best, bestAlive, nil
}

// rendezvous ranks an agent for a node, evenly over the nodes.
func rendezvous(node, agent string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node + "/" + agent))
	return h.Sum64()
}
