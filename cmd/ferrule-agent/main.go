// Ferrule-agent is the site agent alone: no database, queue or API is linked
// into it.
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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	memory.Limit()
	var c site.Command
	parser := kong.Parse(&c, kong.Name("ferrule-agent"), kong.UsageOnError(),
		kong.Description("The agent of one site: it drives BMCs and boots machines for a Ferrule control plane."),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(site.Version(version)))
	if err := parser.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "ferrule-agent:", err)
		stop()
		os.Exit(1)
	}
}
