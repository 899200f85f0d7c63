// Ferrule-agent is the site agent alone: no database, queue or API is linked
// into it.
package main

import (
	"os"

	"ferrule/cmd/internal/cli"
	"ferrule/cmd/internal/memory"
	"ferrule/cmd/internal/site"
)

// version is set by the build (-ldflags "-X main.version=…").
var version = "dev"

type commands struct {
	site.Command
	cli.Common
}

func main() {
	memory.Limit()
	os.Exit(cli.Main("ferrule-agent", "The agent of one site: it drives BMCs and boots machines for a Ferrule control plane.", version, &commands{}))
}
