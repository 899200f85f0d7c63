package conductor

import (
	"hash/fnv"
	"slices"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

// directory knows which agent serves a node.
type directory struct {
	conductors []metal.Conductor
	now        time.Time
	timeout    time.Duration
}

func (c *Conductor) directory(conductors []metal.Conductor) directory {
	return directory{conductors, time.Now(), c.Config.Conductor.HeartbeatTimeout}
}

// agentFor is the agent of the node's site that serves its hardware type: one
// on line where there is one, always the same for the same node; else one that
// is away and will find its commands when it is back; "" where there is none.
func (d directory) agentFor(n *metal.Node) string {
	if hardware.HostOf(n.Driver) == hardware.HostedHere {
		return metal.LocalAgent
	}
	best, bestAlive, bestRank := "", false, uint64(0)
	for _, c := range d.conductors {
		if c.AgentID == "" || c.ConductorGroup != n.ConductorGroup || !slices.Contains(c.Drivers, n.Driver) {
			continue
		}
		alive, rank := c.Alive(d.now, d.timeout), rendezvous(n.UUID, c.AgentID)
		if best == "" || alive && !bestAlive || alive == bestAlive && rank > bestRank {
			best, bestAlive, bestRank = c.AgentID, alive, rank
		}
	}
	return best
}

// without is the directory after an agent has gone.
func (d directory) without(agentID string) directory {
	d.conductors = slices.DeleteFunc(slices.Clone(d.conductors), func(c metal.Conductor) bool { return c.AgentID == agentID })
	return d
}

// rendezvous ranks an agent for a node, evenly over the nodes.
func rendezvous(node, agent string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(node + "/" + agent))
	return h.Sum64()
}
