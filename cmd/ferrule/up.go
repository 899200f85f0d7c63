package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"ferrule/cmd/internal/site"
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
	return s.run(ctx, parts{api: true, conductor: true}, announceAndServe)
}

// Run runs the API alone.
func (a apiCommand) Run(ctx context.Context) error {
	return a.run(ctx, parts{api: true}, announceAndServe)
}

// Run runs conductor and the agents' listener.
func (c conductorCommand) Run(ctx context.Context) error {
	return c.run(ctx, parts{conductor: true}, announceAndServe)
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

// embeddedAgent is the agent of the default site. It joins with a code and
// speaks mTLS over loopback, exactly as one elsewhere does.
func (p *plane) embeddedAgent(ctx context.Context) error {
	cfg := site.Config{
		DataDir: p.cfg.SiteAgent.DataDir, AdvertiseURL: p.cfg.SiteAgent.PublicURL,
		PlainHTTPBMCs: p.cfg.SiteAgent.PlainHTTPBMCs, OpenNetworks: p.cfg.SiteAgent.OpenNetworks,
		Callbacks: p.cfg.SiteAgent.CallbackNetworks, Version: version, Log: p.log,
		ControlPlane: p.linkAddress(), // its port may be another at each start
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address(p.cfg.SiteAgent.HostIP, p.cfg.SiteAgent.Port))
	if err != nil {
		return fmt.Errorf("listen for machines: %w", err)
	}
	cfg.Listener = listener
	joined, err := site.Joined(cfg.DataDir)
	if err != nil {
		return err
	}
	if !joined {
		code, err := p.newJoinCode(ctx, "", time.Minute)
		if err != nil {
			return err
		}
		if _, err := site.Join(ctx, code.Encode(), cfg); err != nil {
			return err
		}
	}
	err = site.Run(ctx, cfg)
	if site.Removed(err) {
		p.ownAgent.Store(false)
		p.log.ErrorContext(ctx, "the agent of the default site was removed, so this site has none now; "+
			"to have one again, stop ferrule, delete the agent's folder and start ferrule", "folder", cfg.DataDir, "error", err)
		return nil
	}
	return err
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
