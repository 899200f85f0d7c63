package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"ferrule/config"
)

type upCommand struct{ sources }

// Run runs everything in this process.
func (u upCommand) Run(ctx context.Context) error {
	return u.run(ctx, parts{api: true, conductor: true}, func(ctx context.Context, p *plane) error {
		p.ownAgent.Store(true)
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return p.serve(ctx) })
		group.Go(func() error { return p.embeddedAgent(ctx) })
		group.Go(func() error {
			p.awaitAgent(ctx)
			if ctx.Err() == nil {
				p.sayReady()
			}
			return nil
		})
		return group.Wait()
	})
}

// The same parts as separate processes, any number of each, on one PostgreSQL.
type (
	serveCommand     struct{ sources }
	apiCommand       struct{ sources }
	conductorCommand struct{ sources }
)

// Run runs API, conductor and the agents' listener.
func (s serveCommand) Run(ctx context.Context) error {
	return s.runShared(ctx, parts{api: true, conductor: true})
}

// Run runs the API alone.
func (a apiCommand) Run(ctx context.Context) error {
	return a.runShared(ctx, parts{api: true})
}

// Run runs conductor and the agents' listener.
func (c conductorCommand) Run(ctx context.Context) error {
	return c.runShared(ctx, parts{conductor: true})
}

// runShared runs parts of a deployment, which meet in a database.
func (s sources) runShared(ctx context.Context, does parts) error {
	cfg, err := s.load()
	if err != nil {
		return err
	}
	if at, err := cfg.StoreConnection(); err == nil && at.Engine == config.SQLite && !cfg.NamesDatabase() {
		return errors.New("no database is named: give --set store.connection=postgresql://USER@HOST/NAME, " +
			"the same for every process, or use \"ferrule up\" for one process with a database of its own")
	}
	return runPlane(ctx, cfg, does, announceAndServe)
}

func announceAndServe(ctx context.Context, p *plane) error {
	p.sayReady()
	return p.serve(ctx)
}

func (p *plane) sayReady() { fmt.Printf("ferrule is ready at %s\n", p.endpoint()) }

// run opens a plane from the options, and closes it after serve.
func (s sources) run(ctx context.Context, does parts, serve func(context.Context, *plane) error) error {
	cfg, err := s.load()
	if err != nil {
		return err
	}
	return runPlane(ctx, cfg, does, serve)
}

func runPlane(ctx context.Context, cfg *config.Config, does parts, serve func(context.Context, *plane) error) error {
	relaxCollector()
	p, err := openPlane(ctx, cfg, does)
	if err != nil {
		return err
	}
	return errors.Join(serve(ctx, p), p.close())
}

// relaxCollector lets the heap grow to five times what is alive, unless GOGC says
// otherwise. What is alive is small, some ten MiB and the answers under way, and
// a request leaves much behind: at Go's default a fifth of the CPU time of reads
// goes into collecting.
func relaxCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// agentPatience is how long a start waits for the embedded agent before it says
// what cannot be used.
const agentPatience = 30 * time.Second

// awaitAgent waits until all enabled hardware types can be used.
func (p *plane) awaitAgent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for p.ownAgent.Load() {
		ready := p.api.Ready(ctx)
		if ready.Err == nil && len(ready.Unusable) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			for name, why := range ready.Unusable {
				p.log.WarnContext(ctx, "a hardware type cannot be used", "type", name, "reason", why)
			}
			return
		case <-look.C:
		}
	}
}
