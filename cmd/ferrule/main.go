// Ferrule is a drop-in replacement for OpenStack Ironic: this binary is the
// control plane, the site agent, the lab and the operator's tool in one. It is
// the only place, with cmd/ferrule-agent, that wires the packages together.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"ferrule/cmd/internal/memory"
	"ferrule/cmd/internal/site"
)

// version is set by the build (-ldflags "-X main.version=…").
var version = "dev"

type commands struct {
	Up        upCommand        `cmd:"" help:"Run everything in this process: API, conductor and an agent for the default site."`
	Serve     serveCommand     `cmd:"" help:"Run API and conductor, for a deployment on PostgreSQL."`
	API       apiCommand       `cmd:"" name:"api" help:"Run the API alone, beside conductors on the same PostgreSQL."`
	Conductor conductorCommand `cmd:"" help:"Run a conductor with the agents' listener, beside APIs on the same PostgreSQL."`
	Demo      demoCommand      `cmd:"" help:"Take emulated servers through their whole life, live."`
	Lab       labCommand       `cmd:"" help:"Run emulated servers."`
	Agent     agentCommand     `cmd:"" help:"Join a site and run its agent."`
	JoinCode  joinCodeCommand  `cmd:"" help:"Make a code with which one agent joins a site."`
	Agents    agentsCommand    `cmd:"" help:"List the sites' agents, or remove one."`
	Site      siteCommand      `cmd:"" help:"List the sites."`
	Migrate   migrateCommand   `cmd:"" help:"Bring the database to this version's schema."`
	Config    configCommand    `cmd:"" help:"List the options, or check a configuration file."`
	Policy    policyCommand    `cmd:"" help:"List the built-in policies, or check a policy file."`
	Version   versionCommand   `cmd:"" help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	memory.Limit()
	var c commands
	parser := kong.Parse(&c, kong.Name("ferrule"), kong.UsageOnError(),
		kong.Description("Bare metal as a service, compatible with OpenStack Ironic."),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(site.Version(version)))
	if err := parser.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "ferrule:", err)
		stop()
		os.Exit(1)
	}
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run() error {
	fmt.Println("ferrule", version)
	return nil
}
