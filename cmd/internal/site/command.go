package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"ferrule/cmd/internal/logfile"
	"ferrule/config"
)

// Command is the agent's part of a command line.
type Command struct {
	Join JoinCommand `cmd:"" help:"Join a site with a code, once."`
	Run  RunCommand  `cmd:"" help:"Run the agent that has joined."`
}

// Flags are those of joining.
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
	Data          string         `help:"The agent's own folder (default ferrule-agent)." placeholder:"DIR"`
	Config        []string       `aliases:"config-file,config-dir" help:"Configuration file with [siteagent] and the [DEFAULT] options of logging, or a folder of *.conf files; flags are stronger." placeholder:"PATH" sep:"none"`
	Listen        string         `help:"Where the ramdisks' relay and boot media are served (default :6387)." placeholder:"HOST:PORT"`
	AdvertiseURL  string         `help:"How BMCs and machines reach that; by default the listener's own address." placeholder:"URL"`
	PlainHTTPBMCs []netip.Prefix `name:"plain-http-bmcs" help:"Networks whose BMCs may be spoken to without TLS (labs)." placeholder:"CIDR"`
	OpenNetworks  []netip.Prefix `help:"Networks whose addresses images and ramdisks may have although they are loopback, link-local, metadata or BMC addresses (labs)." placeholder:"CIDR"`
	Callbacks     []netip.Prefix `name:"callback-networks" help:"Networks of ramdisks' call-back addresses; by default only the address from which a ramdisk calls." placeholder:"CIDR"`
	ImageDirs     []string       `help:"Folders that file:// image addresses may name." placeholder:"DIR"`
}

// Run runs until it is told to stop.
func (r RunCommand) Run(ctx context.Context, version Version) error {
	cfg, err := config.Load(config.Sources{Files: r.Config, Environ: os.Environ()})
	if err != nil {
		return err
	}
	agent := r.options(cfg)
	if agent.DataDir, err = (Flags{agent.DataDir}).dir(); err != nil {
		return err
	}
	log, closeLog, err := logfile.Open(cfg.Default, "ferrule-agent")
	if err != nil {
		return err
	}
	agent.Version, agent.Log = string(version), log
	log.InfoContext(ctx, "the agent starts", "version", agent.Version, "data", agent.DataDir, "listen", agent.Listen)
	return errors.Join(Run(ctx, agent), closeLog())
}

// options puts the flags over the configuration.
func (r RunCommand) options(cfg *config.Config) Config {
	c := Config{
		DataDir:       cmp.Or(r.Data, cfg.SiteAgent.DataDir, "ferrule-agent"),
		Listen:        ":6387",
		AdvertiseURL:  cmp.Or(r.AdvertiseURL, cfg.SiteAgent.PublicURL),
		PlainHTTPBMCs: cfg.SiteAgent.PlainHTTPBMCs,
		OpenNetworks:  cfg.SiteAgent.OpenNetworks,
		Callbacks:     cfg.SiteAgent.CallbackNetworks,
	}
	if cfg.IsSet("siteagent", "host_ip") || cfg.IsSet("siteagent", "port") {
		c.Listen = net.JoinHostPort(cfg.SiteAgent.HostIP, strconv.Itoa(cfg.SiteAgent.Port))
	}
	c.Listen = cmp.Or(r.Listen, c.Listen)
	if r.PlainHTTPBMCs != nil {
		c.PlainHTTPBMCs = r.PlainHTTPBMCs
	}
	if r.OpenNetworks != nil {
		c.OpenNetworks = r.OpenNetworks
	}
	if r.Callbacks != nil {
		c.Callbacks = r.Callbacks
	}
	if cfg.IsSet("conductor", "file_url_allowed_paths") {
		c.ImageDirs = cfg.Conductor.FileURLAllowedPaths
	}
	c.ImageDirs = append(c.ImageDirs, r.ImageDirs...)
	return c
}

// Version is the binary's version, bound to the commands by main.
type Version string
