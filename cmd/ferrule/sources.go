package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ferrule/config"
	"ferrule/hardware"
	"ferrule/metal"
)

// sources are the flags that say where options come from.
type sources struct {
	Config []string `aliases:"config-file,config-dir" help:"Configuration file in Ironic's format, or a folder of *.conf files; later ones win." placeholder:"PATH" sep:"none"`
	Set    []string `help:"Override one option." placeholder:"SECTION.OPTION=VALUE" sep:"none"`
	Data   string   `help:"Folder for database, keys and the agent's files." placeholder:"DIR"`
	Listen string   `help:"Where the API listens (default 127.0.0.1:6385). With port 0 the other listeners take free ports too." placeholder:"HOST:PORT"`
	Auth   string   `help:"How callers are known: none, http_basic or keystone." enum:",none,noauth,http_basic,keystone" default:""`
}

// load reads the options; flags are the strongest source.
func (s sources) load() (*config.Config, error) {
	var flags []config.Flag
	if s.Data != "" {
		dir, err := filepath.Abs(s.Data)
		if err != nil {
			return nil, err
		}
		flags = append(flags, config.Flag{Flag: "--data", Option: "store.data_dir", Value: dir})
	}
	if s.Auth != "" {
		flags = append(flags, config.Flag{Flag: "--auth", Option: "DEFAULT.auth_strategy", Value: s.Auth})
	}
	if s.Listen != "" {
		host, port, err := net.SplitHostPort(s.Listen)
		if err != nil || host == "" || port == "" {
			return nil, fmt.Errorf("--listen %s: give HOST:PORT; 0.0.0.0 and [::] stand for every address", s.Listen)
		}
		where := "--listen " + s.Listen
		flags = append(flags, config.Flag{Flag: where, Option: "api.host_ip", Value: host}, config.Flag{Flag: where, Option: "api.port", Value: port})
	}
	cfg, err := config.Load(config.Sources{Files: s.Config, Environ: os.Environ(), Set: s.Set, Flags: flags, Judge: judge})
	if err != nil {
		return nil, err
	}
	return cfg, complete(cfg)
}

// complete sets what follows from other options.
func complete(cfg *config.Config) error {
	if strings.TrimSpace(cfg.Default.Host) == "" {
		return errors.New("[DEFAULT] host is empty: give the name by which this process is told from others")
	}
	dir, err := filepath.Abs(cfg.Store.DataDir)
	if err != nil {
		return fmt.Errorf("[store] data_dir: %w", err)
	}
	cfg.Store.DataDir = dir
	if cfg.API.Port == 0 {
		if !cfg.IsSet("link", "port") {
			cfg.Link.Port = 0
		}
		if !cfg.IsSet("siteagent", "port") {
			cfg.SiteAgent.Port = 0
		}
	}
	if cfg.SiteAgent.DataDir == "" {
		cfg.SiteAgent.DataDir = filepath.Join(cfg.Store.DataDir, "agent")
	}
	if cfg.Trust.DeploymentKeyFile == "" {
		cfg.Trust.DeploymentKeyFile = filepath.Join(cfg.Store.DataDir, "deployment.key")
	}
	return nil
}

func address(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// newCatalogue is the catalogue as the options switch it on.
func newCatalogue(cfg *config.Config) (*hardware.Catalogue, error) {
	on := hardware.Enabled{
		HardwareTypes: cfg.Default.EnabledHardwareTypes,
		Interfaces:    map[metal.InterfaceType][]string{},
		Defaults:      map[metal.InterfaceType]string{},
	}
	for kind, names := range cfg.Default.EnabledInterfaces {
		on.Interfaces[metal.InterfaceType(kind)] = names
	}
	for kind, name := range cfg.Default.DefaultInterfaces {
		on.Defaults[metal.InterfaceType(kind)] = name
	}
	c, err := hardware.NewCatalogue(on, hardware.ValidationSettings{
		DeployKernel: cfg.Conductor.DeployKernel, DeployRamdisk: cfg.Conductor.DeployRamdisk,
		RescueKernel: cfg.Conductor.RescueKernel, RescueRamdisk: cfg.Conductor.RescueRamdisk,
		Bootloader: cfg.Conductor.Bootloader, RequireManagedBoot: cfg.Inspector.RequireManagedBoot,
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}
