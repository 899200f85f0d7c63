package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ferrule/cmd/internal/site"
	"ferrule/link/client"
	"ferrule/trust"
)

func TestTheEmbeddedAgentJoinsAgainWhereItsIdentityIsOfNoUse(t *testing.T) {
	for name, c := range map[string]struct {
		madeAgo time.Duration // when the old agent joined
		harm    func(path string) error
		same    bool
	}{
		"in force":  {0, func(string) error { return nil }, true},
		"ended":     {100 * 24 * time.Hour, func(string) error { return nil }, false},
		"missing":   {0, os.Remove, false},
		"empty":     {0, func(path string) error { return os.Truncate(path, 0) }, false},
		"truncated": {0, func(path string) error { return os.Truncate(path, 100) }, false},
		"garbled":   {0, func(path string) error { return os.WriteFile(path, []byte("\x00\xff garbled"), 0o600) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := linkOnly(t, c.madeAgo)
			cfg := site.Config{DataDir: p.cfg.SiteAgent.DataDir, Version: "test", Log: p.log}
			code, err := p.newJoinCode(t.Context(), "", c.madeAgo+time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			old, err := site.Join(t.Context(), code.Encode(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.harm(client.IdentityPath(cfg.DataDir)); err != nil {
				t.Fatal(err)
			}
			if p.ca, err = trust.OpenCA(t.Context(), p.store, p.sealer, nil); err != nil { // the clock is the real one again
				t.Fatal(err)
			}
			if err := p.joinEmbedded(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
			id, err := client.Load(cfg.DataDir)
			if err != nil || (id.AgentID() == old.AgentID()) != c.same {
				t.Errorf("the agent was %v and is %v, %v", old, id, err)
			}
			row, err := p.store.Agent(t.Context(), old.AgentID())
			if gone := row.RevokedAt != nil; err != nil || gone != (name == "ended") {
				t.Errorf("the old agent is removed: %v, %v", gone, err)
			}
		})
	}
}

// linkOnly is a plane that serves its link, by a clock that is behind.
func linkOnly(t *testing.T, behind time.Duration) *plane {
	t.Helper()
	cfg, err := sources{Data: t.TempDir(), Listen: "127.0.0.1:0"}.load()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Default.LogFile = filepath.Join(t.TempDir(), "log")
	p, err := openPlane(t.Context(), cfg, parts{conductor: true})
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Now().Add(-behind) }
	if p.ca, err = trust.OpenCA(t.Context(), p.store, p.sealer, now); err != nil {
		t.Fatal(err)
	}
	p.gateway = p.newGateway()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.gateway.Serve(ctx, p.linkListener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
