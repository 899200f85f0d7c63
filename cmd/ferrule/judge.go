package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"ferrule/api/auth"
	"ferrule/conductor"
	"ferrule/config"
	"ferrule/hardware"
	"ferrule/metal"
)

// judge finds what the catalogue of options cannot know: values that name what
// is not built in, and values that a later step of the start refuses.
func judge(cfg *config.Config) []config.Finding {
	findings := append(judgeHardware(cfg), judgeHooks(cfg)...)
	refuse := func(err error) {
		if err != nil {
			findings = append(findings, config.Finding{Verdict: config.Refused, Reason: err.Error()})
		}
	}
	refuse(conductor.CheckConfig(cfg))
	_, err := newCatalogue(cfg)
	refuse(err)
	_, err = auth.New(auth.Options{
		Strategy: cfg.Default.AuthStrategy, UserFile: cfg.Default.HTTPBasicAuthUserFile, Keystone: cfg.KeystoneAuthtoken,
		Logger: slog.New(slog.DiscardHandler),
	})
	refuse(err)
	return findings
}

// judgeHardware looks at the hardware types and interfaces that are enabled or
// made the default.
func judgeHardware(cfg *config.Config) []config.Finding {
	var findings []config.Finding
	look := func(option, kind string, names []string, built func(string) bool) {
		var missing []string
		for _, name := range names {
			if !built(name) && !slices.Contains(missing, name) {
				missing = append(missing, name)
			}
		}
		for _, name := range missing {
			what := kind + " " + name
			findings = append(findings, config.Finding{
				Verdict: config.Loses, Section: "DEFAULT", Option: option, Reason: "the " + what + " is not built in", Lost: what,
			})
		}
	}
	look("enabled_hardware_types", "hardware type", cfg.Default.EnabledHardwareTypes, func(name string) bool {
		return builtIn(hardware.Enabled{HardwareTypes: []string{name, "fake-hardware"}})
	})
	for _, kind := range config.InterfaceKinds() {
		built := func(name string) bool {
			return builtIn(hardware.Enabled{Interfaces: map[metal.InterfaceType][]string{metal.InterfaceType(kind): {name}}})
		}
		look("enabled_"+kind+"_interfaces", kind+" interface", cfg.Default.EnabledInterfaces[kind], built)
		if name := cfg.Default.DefaultInterfaces[kind]; name != "" {
			look("default_"+kind+"_interface", kind+" interface", []string{name}, built)
		}
	}
	return findings
}

// builtIn says whether the catalogue has all that is named.
func builtIn(named hardware.Enabled) bool {
	c, err := hardware.NewCatalogue(named, hardware.ValidationSettings{})
	return err == nil && len(c.Skipped()) == 0
}

func judgeHooks(cfg *config.Config) []config.Finding {
	var findings []config.Finding
	for _, o := range []struct{ section, option, text string }{
		{"inspector", "hooks", cfg.Inspector.Hooks}, {"redfish", "inspection_hooks", cfg.Redfish.InspectionHooks},
	} {
		for _, hook := range conductor.MissingHooks(o.text) {
			findings = append(findings, config.Finding{
				Verdict: config.Loses, Section: o.section, Option: o.option,
				Reason: "the inspection hook " + hook + " is not built in and is left out", Lost: "inspection hook " + hook,
			})
		}
	}
	return findings
}

// mostNamed bounds how many unknown options the line at start names.
const mostNamed = 8

// tellOfFindings logs one line where the configuration asks for what Ferrule
// does not do.
func tellOfFindings(ctx context.Context, cfg *config.Config, log *slog.Logger) {
	losses, unknown := cfg.Losses(), cfg.Count(config.Unknown)
	if len(losses) == 0 && unknown == 0 {
		return
	}
	var names []string
	for _, f := range cfg.Findings {
		if f.Verdict == config.Unknown && len(names) < mostNamed {
			names = append(names, f.String())
		}
	}
	if unknown > len(names) {
		names = append(names, fmt.Sprintf("and %d more", unknown-len(names)))
	}
	about := []any{"you_lose", strings.Join(losses, "; ")}
	if unknown > 0 {
		about = append(about, "unknown", strings.Join(names, "; "))
	}
	log.WarnContext(ctx, "the configuration asks for what Ferrule does not do; \"ferrule config check\" says it option by option",
		append(about, "check", "ferrule config check "+strings.Join(cfg.Files, " "))...)
}
