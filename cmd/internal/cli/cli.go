// Package cli is the command line that both programs share: how it is read, how
// a mistake in it is told, and the version. It is part of cmd.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"ferrule/cmd/internal/site"
)

// Ironic is the release whose API and options the programs have.
const Ironic = "39.0.0 (API 1.1 to 1.115)"

// Common are what every program has beside its own commands.
type Common struct {
	ShowVersion kong.VersionFlag          `name:"version" help:"Print the version, and the Ironic that it is like."`
	Version     versionCommand            `cmd:"" help:"Print the version, and the Ironic that it is like."`
	Completion  kongcompletion.Completion `cmd:"" help:"Print what makes the shell complete commands and flags."`
	Man         mangokong.ManFlag         `help:"Print the manual page; \"man -l\" shows it." hidden:""`
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(app *kong.Kong, vars kong.Vars) error {
	_, err := fmt.Fprintln(app.Stdout, vars["version"])
	return err
}

// Main reads the command line into grammar, runs the command, and gives the
// status to exit with.
func Main(name, description, version string, grammar any) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr, name, description, version, grammar)
}

func run(ctx context.Context, args []string, out, complaints io.Writer, name, description, version string, grammar any) int {
	vars := kong.Vars{"version": describe(name, version)}
	parser, err := kong.New(grammar, kong.Name(name), kong.Description(description), vars, kong.Writers(out, complaints),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(site.Version(version), vars),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintf(complaints, "%s: %v\n", name, err)
		return 1
	}
	kongcompletion.Register(parser)
	parsed, err := parser.Parse(helped(args))
	if err != nil {
		fmt.Fprintf(complaints, "%s: %v\nTry \"%s --help\".\n", name, err, name)
		return 2
	}
	if err := parsed.Run(); err != nil {
		fmt.Fprintf(complaints, "%s: %v\n", name, err)
		return 1
	}
	return 0
}

// helped reads "help VERB" as "VERB --help".
func helped(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "help":
		return append(args[1:], "--help")
	}
	return args
}

// describe is the version, with the commit that it was built of.
func describe(name, version string) string {
	text := name + " " + version
	if info, ok := debug.ReadBuildInfo(); ok {
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if commit := settings["vcs.revision"]; commit != "" {
			text += fmt.Sprintf(" (commit %.12s of %s)", commit, settings["vcs.time"])
		}
	}
	return text + ", like OpenStack Ironic " + Ironic
}
