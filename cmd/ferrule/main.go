// Ferrule is a drop-in replacement for OpenStack Ironic: this binary is the
// control plane, the site agent, the lab and the operator's tool in one. It is
// the only place, with cmd/ferrule-agent, that wires the packages together.
package main

import (
	"os"

	"ferrule/cmd/internal/cli"
	"ferrule/cmd/internal/memory"
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

	cli.Common
}

func main() {
	memory.Limit()
	os.Exit(cli.Main("ferrule", "Bare metal as a service, compatible with OpenStack Ironic.", version, &commands{}))
}
