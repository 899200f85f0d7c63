package site

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
)

// Command is the agent's part of a command line.
type Command struct {
	Join JoinCommand `cmd:"" help:"Join a site with a code, once."`
	Run  RunCommand  `cmd:"" help:"Run the agent that has joined."`
}

// Flags are common to both.
type Flags struct {
	Data string `help:"The agent's own folder." default:"ferrule-agent" placeholder:"DIR"`
}

func (f Flags) dir() (string, error) {
	dir, err := filepath.Abs(f.Data)
	if err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o700)
}

// JoinCommand joins a site.
type JoinCommand struct {
	Flags
	Code string `arg:"" help:"What \"ferrule join-code\" printed; - reads it from standard input."`
}

// Run joins.
func (j JoinCommand) Run(ctx context.Context, version Version) error {
	dir, err := j.dir()
	if err != nil {
		return err
	}
	code := j.Code
	if code == "-" {
		if _, err := fmt.Scanln(&code); err != nil {
			return fmt.Errorf("read the join code: %w", err)
		}
	}
	id, err := Join(ctx, code, Config{DataDir: dir, Version: string(version), Log: slog.Default()})
	if err != nil {
		return err
	}
	fmt.Printf("agent %s has joined site %q of %s\n", id.AgentID(), id.Site(), id.Address())
	return nil
}

// RunCommand runs the agent.
type RunCommand struct {
	Flags
	Listen        string         `help:"Where the ramdisks' relay and boot media are served." default:":6387" placeholder:"HOST:PORT"`
	AdvertiseURL  string         `help:"How BMCs and machines reach that; by default the listener's own address." placeholder:"URL"`
	PlainHTTPBMCs []netip.Prefix `name:"plain-http-bmcs" help:"Networks whose BMCs may be spoken to without TLS (labs)." placeholder:"CIDR"`
	OpenNetworks  []netip.Prefix `help:"Networks whose addresses images and ramdisks may have although they are loopback, link-local, metadata or BMC addresses (labs)." placeholder:"CIDR"`
	Callbacks     []netip.Prefix `name:"callback-networks" help:"Networks of ramdisks' call-back addresses; by default only the address from which a ramdisk calls." placeholder:"CIDR"`
	ImageDirs     []string       `help:"Folders that file:// image addresses may name." placeholder:"DIR"`
}

// Run runs until it is told to stop.
func (r RunCommand) Run(ctx context.Context, version Version) error {
	dir, err := r.dir()
	if err != nil {
		return err
	}
	return Run(ctx, Config{
		DataDir: dir, Listen: r.Listen, AdvertiseURL: r.AdvertiseURL, PlainHTTPBMCs: r.PlainHTTPBMCs,
		ImageDirs: r.ImageDirs, OpenNetworks: r.OpenNetworks, Callbacks: r.Callbacks, Version: string(version), Log: slog.Default(),
	})
}

// Version is the binary's version, bound to the commands by main.
type Version string
