package conductor

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"ferrule/conductor/runner"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// The power watch is the agent's: it reads the power of each node it holds a
// lease for and reports what changes. The conductor only renews the leases.

const (
	watchLease = 20 * time.Minute
	watchRenew = 8 * time.Minute
	watchPage  = 500
)

type watchWorker struct {
	river.WorkerDefaults[store.WatchArgs]
	conductor *Conductor
}

// Work implements river.Worker.
func (w *watchWorker) Work(ctx context.Context, job *river.Job[store.WatchArgs]) error {
	c := w.conductor
	if c.Config.Conductor.SyncPowerStateInterval <= 0 {
		return nil
	}
	q := store.NodeQuery{IncludeChildren: true, Page: store.Page{Limit: watchPage}}
	for {
		nodes, err := c.Store.Nodes(ctx, q)
		if err != nil {
			return err
		}
		if err := c.watchAll(ctx, nodes, job.Args.AgentID); err != nil {
			return err
		}
		if len(nodes) < watchPage {
			return nil
		}
		q.Marker = nodes[len(nodes)-1].UUID
	}
}

// watchAll leases the nodes; with an agent, only those that it serves.
func (c *Conductor) watchAll(ctx context.Context, nodes []metal.Node, only string) error {
	return c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.ConductorsNow(ctx) // the agent that this is for has just come
		if err != nil {
			return err
		}
		agents := c.directory(list)
		for i := range nodes {
			n := &nodes[i]
			if hardware.HostOf(n.Driver) == hardware.HostedHere || n.ProvisionState.Is(metal.Enroll, metal.Verifying) {
				continue
			}
			agent := agents.agentFor(n)
			if agent == "" || only != "" && agent != only {
				continue
			}
			if err := c.watch(ctx, tx, n, agent); err != nil {
				return err
			}
		}
		return nil
	})
}

// watchAfter leases a node as soon as it has been verified.
func (c *Conductor) watchAfter(ctx context.Context, tx *store.Tx, before, after *metal.Node, agent string) error {
	verified := before.ProvisionState.Is(metal.Verifying) && after.ProvisionState.Is(metal.Manageable)
	if !verified || agent == metal.LocalAgent || agent == "" || c.Config.Conductor.SyncPowerStateInterval <= 0 {
		return nil
	}
	return c.watch(ctx, tx, after, agent)
}

func (c *Conductor) watch(ctx context.Context, tx *store.Tx, n *metal.Node, agent string) error {
	req, err := c.Catalogue.Machine(n).Request(metal.PowerGet)
	if err != nil {
		return nil //nolint:nilerr // a node without a usable BMC is not watched
	}
	req.ArgsJSON = []byte(metal.ToJSON(metal.WatchArgs{
		IntervalSeconds: int(c.watchInterval().Seconds()), LeaseSeconds: int(watchLease.Seconds()),
	}))
	return c.orderAs(ctx, tx, n.UUID, metal.KindWatch, runner.Order{
		ID: uuid.NewString(), AgentID: agent, Request: req, Expires: time.Now().Add(watchLease),
	})
}

// watchInterval is the agent's own where it is configured, else Ironic's.
func (c *Conductor) watchInterval() time.Duration {
	if c.Config.IsSet("siteagent", "watch_interval") {
		return c.Config.SiteAgent.WatchInterval
	}
	return c.Config.Conductor.SyncPowerStateInterval
}
