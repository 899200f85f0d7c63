package conductor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"ferrule/conductor/runner"
	"ferrule/config"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/trust"
)

// Local carries out the operations of hardware types that need no agent. It
// may be called again with the same request after a crash.
type Local interface {
	Execute(ctx context.Context, req metal.Request) metal.CommandResult
}

// Options are what a conductor is made of; all are needed.
type Options struct {
	Store     *store.Store
	Config    *config.Config
	Catalogue *hardware.Catalogue
	Signer    *trust.CommandSigner
	Sealer    *trust.Sealer
	Local     Local
	Logger    *slog.Logger
	Hostname  string
	MaxJobs   int // jobs at a time; 0: the store's default
}

// Conductor is one conductor process.
type Conductor struct {
	Options
	settings runner.Settings
	builtIn  []metal.InspectionRule
	workers  store.Workers
	rulesRan func() // a test's: called before the transaction that writes what rules came to
}

// New prepares a conductor; Run starts it.
func New(o Options) (*Conductor, error) {
	settings, err := settingsFrom(o.Config, o.Hostname)
	if err != nil {
		return nil, err
	}
	c := &Conductor{Options: o, settings: settings}
	if c.builtIn, err = builtInRules(o.Config.InspectionRules.BuiltInRules); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &advanceWorker{conductor: c})
	river.AddWorker(workers, &timerWorker{store: o.Store})
	river.AddWorker(workers, &tidyWorker{conductor: c})
	river.AddWorker(workers, &watchWorker{conductor: c})
	c.workers, err = o.Store.Workers(store.WorkersConfig{
		Workers: workers, Periodic: c.periodic(), MaxWorkers: o.MaxJobs, ID: o.Hostname + "/" + uuid.NewString()[:8],
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the conductor's workers: %w", err)
	}
	return c, nil
}

// Register makes the conductor known to clients. It is done before the API
// answers, so that the first request finds a conductor for its driver.
func (c *Conductor) Register(ctx context.Context) error {
	var hosted []string
	for _, h := range c.Catalogue.HardwareTypes() {
		if h.Host == hardware.HostedHere {
			hosted = append(hosted, h.Name)
		}
	}
	return c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		before, err := tx.Conductor(ctx, c.Hostname)
		switch {
		case err == nil && c.Store.Shared() && before.Alive(time.Now(), c.Config.Conductor.HeartbeatTimeout):
			c.Logger.WarnContext(ctx, "a conductor of this host name was alive a moment ago; if it was not this one before a restart, "+
				"give each a [DEFAULT] host of its own", "conductor", c.Hostname, "seen", before.UpdatedAt)
		case err != nil && metal.ReasonOf(err) != metal.NotFound:
			return err
		}
		if err := tx.LeaveThrough(ctx, c.Hostname, before.UpdatedAt); err != nil {
			return err
		}
		return tx.UpsertConductor(ctx, &metal.Conductor{
			Hostname: c.Hostname, ConductorGroup: c.Config.Conductor.ConductorGroup, Drivers: hosted, Online: true,
		})
	})
}

// stopPatience is how long a stop waits for jobs under way; none is longer.
const stopPatience = 15 * time.Second

// Run works jobs until ctx ends, then lets those under way come to their end.
func (c *Conductor) Run(ctx context.Context) error {
	if err := c.workers.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the conductor's workers: %w", err)
	}
	c.live(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	err := c.workers.Stop(end)
	if err != nil {
		again, cancelAgain := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancelAgain()
		err = errors.Join(err, c.workers.StopAndCancel(again))
	}
	offline := c.Store.Write(end, func(ctx context.Context, tx *store.Tx) error {
		return tx.TouchConductor(ctx, c.Hostname, false)
	})
	return errors.Join(err, offline)
}

// live gives the sign of life until ctx ends.
func (c *Conductor) live(ctx context.Context) {
	tick := time.NewTicker(max(c.Config.Conductor.HeartbeatInterval, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := c.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
				return tx.TouchConductor(ctx, c.Hostname, true)
			})
			if err != nil && ctx.Err() == nil && metal.ReasonOf(err) != metal.Outage { // the store tells of those
				c.Logger.ErrorContext(ctx, "conductor could not give its sign of life", "conductor", c.Hostname, "error", err)
			}
		}
	}
}

// agentAnswer is how long an agent may take over one command.
const agentAnswer = 5 * time.Minute

func settingsFrom(cfg *config.Config, host string) (runner.Settings, error) {
	s := runner.Settings{
		Host:                       host,
		AutomatedClean:             cfg.Conductor.AutomatedClean,
		DeployTimeout:              cfg.Conductor.DeployCallbackTimeout,
		CleanTimeout:               cfg.Conductor.CleanCallbackTimeout,
		InspectTimeout:             cfg.Conductor.InspectWaitTimeout,
		RescueTimeout:              cfg.Conductor.RescueCallbackTimeout,
		ServiceTimeout:             cfg.Conductor.ServiceCallbackTimeout,
		CommandTimeout:             agentAnswer,
		PowerTimeout:               cfg.Conductor.PowerStateChangeTimeout,
		SoftPowerTimeout:           cfg.Conductor.SoftPowerOffTimeout,
		PowerSyncMaxRetries:        cfg.Conductor.PowerStateSyncMaxRetries,
		WatchHealth:                cfg.Conductor.EnableHealthMonitoring,
		PowerOffAfterDeployFailure: cfg.Deploy.PowerOffAfterDeployFailure,
		EraseDevicesPriority:       cfg.Deploy.EraseDevicesPriority,
		EraseMetadataPriority:      cfg.Deploy.EraseDevicesMetadataPriority,
		CreateRAIDPriority:         cfg.Deploy.CreateConfigurationPriority,
		DeleteRAIDPriority:         cfg.Deploy.DeleteConfigurationPriority,
		ForbiddenCleanSteps:        cfg.API.DisallowCleanSteps,
		ForbiddenDeploySteps:       cfg.API.DisallowDeploySteps,
		LongestPause:               cfg.Conductor.MaxWaitStep,
		RecordFlows:                cfg.Conductor.NodeHistory && cfg.Conductor.RecordStepFlowsInHistory,
		PowerOffAfterCleanFailure:  cfg.Conductor.PoweroffInCleanfail,
		PowerOffAfterServiceFail:   cfg.Conductor.PoweroffInServicefail,
		KernelParams:               strings.Fields(cfg.Redfish.KernelAppendParams),
		InspectParams:              strings.Fields(cfg.Inspector.ExtraKernelParams),
		InspectPowerOff:            cfg.Inspector.PowerOff,
		AddPorts:                   cfg.Inspector.AddPorts,
		KeepPorts:                  cfg.Inspector.KeepPorts,
		PreCreatePorts:             cfg.Inspector.PreCreatePorts,
		UpdatePXEEnabled:           cfg.Inspector.UpdatePXEEnabled,
		CPUCapabilities:            cfg.Inspector.CPUCapabilities,
		MaskSecrets:                cfg.InspectionRules.MaskSecrets,
		CleanStepPriority:          map[string]int{},
	}
	for _, h := range []struct {
		option, text string
		names        *[]string
	}{
		{"[inspector]hooks", cfg.Inspector.Hooks, &s.InspectHooks},
		{"[redfish]inspection_hooks", cfg.Redfish.InspectionHooks, &s.RedfishInspectHooks},
		{"[inspector]default_hooks", cfg.Inspector.DefaultHooks, new([]string)},
		{"[redfish]default_inspection_hooks", cfg.Redfish.DefaultInspectionHooks, new([]string)},
	} {
		var err error
		if *h.names, err = hooksOf(h.option, h.text); err != nil {
			return s, err
		}
	}
	for step, text := range cfg.Conductor.CleanStepPriorityOverride {
		var p int
		if _, err := fmt.Sscan(text, &p); err != nil || p < 0 {
			return s, fmt.Errorf("[conductor]clean_step_priority_override: the priority %q of %s is not a number of 0 and more", text, step)
		}
		s.CleanStepPriority[step] = p
	}
	return s, nil
}

// hooksOf reads a list of inspection hooks (Ironic: inspect_utils.
// validate_inspection_hooks).
func hooksOf(option, text string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if name == "ports" && !slices.Contains(names, "validate-interfaces") {
			return nil, fmt.Errorf("%s: the hook ports needs validate-interfaces before it", option)
		}
		names = append(names, name)
	}
	return names, nil
}

// CheckConfig says what in a configuration keeps a conductor from starting.
func CheckConfig(cfg *config.Config) error {
	_, err := settingsFrom(cfg, cfg.Default.Host)
	return err
}

// MissingHooks are the inspection hooks of a list that are not built in. They
// are left out when an inspection runs.
func MissingHooks(list string) []string {
	var missing []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(runner.BuiltInHooks(), name) {
			missing = append(missing, name)
		}
	}
	return missing
}
