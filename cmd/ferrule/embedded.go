package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"ferrule/cmd/internal/site"
	"ferrule/durable"
	"ferrule/link/client"
	"ferrule/metal"
)

// embeddedAgent is the agent of the default site. It joins with a code and
// speaks mTLS over loopback, exactly as one elsewhere does.
func (p *plane) embeddedAgent(ctx context.Context) error {
	cfg := site.Config{
		DataDir: p.cfg.SiteAgent.DataDir, AdvertiseURL: p.cfg.SiteAgent.PublicURL,
		PlainHTTPBMCs: p.cfg.SiteAgent.PlainHTTPBMCs, OpenNetworks: p.cfg.SiteAgent.OpenNetworks,
		Callbacks: p.cfg.SiteAgent.CallbackNetworks, ImageDirs: p.cfg.Conductor.FileURLAllowedPaths, Version: version, Log: p.log,
		ControlPlane: p.linkAddress(), // its port may be another at each start
	}
	for {
		listener, err := listenAt(ctx, "machines", "[siteagent] host_ip and port", p.cfg.SiteAgent.HostIP, p.cfg.SiteAgent.Port)
		if err != nil {
			return err
		}
		cfg.Listener = listener
		if err := p.joinEmbedded(ctx, cfg); err != nil {
			return errors.Join(err, listener.Close())
		}
		err = site.Run(ctx, cfg)
		switch {
		case site.Ended(err):
			continue // the machine slept for that long
		case site.Removed(err):
			p.ownAgent.Store(false)
			p.log.ErrorContext(ctx, "the agent of the default site was removed, so this site has none now; "+
				"to have one again, stop ferrule, delete the agent's folder and start ferrule", "folder", cfg.DataDir, "error", err)
			return nil
		}
		return err
	}
}

// joinEmbedded gives the embedded agent an identity where it has none, or none
// that is of use: the control plane is in this very process.
func (p *plane) joinEmbedded(ctx context.Context, cfg site.Config) error {
	id, err := client.Load(cfg.DataDir)
	switch {
	case err == nil && id.CheckLife(p.ca.Now()) == nil:
		return nil
	case err == nil:
		p.log.WarnContext(ctx, "the certificate of the default site's agent has ended; it joins again", "agent", id.AgentID())
		if err := p.ledger().Remove(ctx, id.AgentID()); err != nil && metal.ReasonOf(err) != metal.NotFound {
			return fmt.Errorf("remove the agent whose certificate has ended: %w", err)
		}
	case errors.Is(err, client.ErrDamaged):
		aside, asideErr := durable.SetAside(client.IdentityPath(cfg.DataDir))
		if asideErr != nil {
			return asideErr
		}
		p.log.ErrorContext(ctx, "the identity of the default site's agent is damaged; it joins again, and its old entry can be removed with \"ferrule agents remove\"",
			"kept", aside, "error", err)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	code, err := p.newJoinCode(ctx, "", time.Minute)
	if err != nil {
		return err
	}
	_, err = site.Join(ctx, code.Encode(), cfg)
	return err
}
