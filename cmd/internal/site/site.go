// Package site wires a site agent from its parts, for the two binaries that run
// one. It is part of cmd.
package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"ferrule/drivers"
	"ferrule/link/client"
	"ferrule/siteagent"
	"ferrule/siteagent/reach"
	"ferrule/trust"
)

// Config is what an operator says of an agent.
type Config struct {
	DataDir       string // its identity, journal and media; private to it
	Listen        string // of the ramdisks' relay and media
	Listener      net.Listener
	AdvertiseURL  string // how machines reach Listen; "" for its own address
	ControlPlane  string // where it is now; "" for where it was joined
	PlainHTTPBMCs []netip.Prefix
	ImageDirs     []string
	OpenNetworks  []netip.Prefix // of a lab; see reach.Options
	Callbacks     []netip.Prefix // networks of ramdisks' call-back addresses
	Version       string
	Log           *slog.Logger
}

func (c Config) registry() *drivers.Registry {
	return drivers.New(drivers.Config{PlainHTTPNetworks: c.PlainHTTPBMCs, Log: c.Log})
}

// Ended reports whether Run ended because the agent's certificate has.
func Ended(err error) bool { return errors.As(err, new(*client.Ended)) }

// Join spends a join code and keeps the identity in the data folder.
func Join(ctx context.Context, code string, c Config) (*client.Identity, error) {
	return client.Enroll(ctx, code, c.DataDir, siteagent.HelloOf(c.Version, nil, c.registry()))
}

// logOutPatience is how long a stop waits for BMCs to end the agent's sessions
// there; those of a BMC that does not answer time out by themselves.
const logOutPatience = 3 * time.Second

func logOut(ctx context.Context, registry *drivers.Registry, log *slog.Logger) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), logOutPatience)
	defer cancel()
	if err := registry.Close(ending); err != nil {
		log.WarnContext(ctx, "not every BMC let the agent log out", "error", err)
	}
}

// Removed reports whether Run ended because the control plane has removed the
// agent.
func Removed(err error) bool {
	var rejected *client.Rejected
	return errors.As(err, &rejected) && rejected.Code == trust.RefusedRevoked
}

// Run runs the agent that has joined, until ctx ends.
func Run(ctx context.Context, c Config) error {
	identity, err := client.Load(c.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the folder %s holds no agent: join a site first, with a code from \"ferrule join-code\"", c.DataDir)
	}
	if err != nil {
		return err
	}
	wire, err := client.New(identity, client.Options{Logger: c.Log, Address: c.ControlPlane})
	if err != nil {
		return err
	}
	defer wire.Close()
	registry := c.registry()
	defer logOut(ctx, registry, c.Log)
	agent, err := siteagent.New(siteagent.Options{
		DataDir: c.DataDir, Link: siteagent.OverClient(wire), Drivers: registry, ListenAddr: c.Listen, Listener: c.Listener,
		AdvertiseURL: c.AdvertiseURL, ImageDirs: c.ImageDirs, Version: c.Version, Logger: c.Log,
		Reach: reach.Options{Open: c.OpenNetworks, Callbacks: c.Callbacks},
	})
	if err != nil {
		return err
	}
	return agent.Run(ctx)
}
