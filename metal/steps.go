package metal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StepKind is the sort of work that steps make up.
type StepKind string

// The kinds of steps; also the names of the ramdisk's extensions.
const (
	CleanSteps   StepKind = "clean"
	DeploySteps  StepKind = "deploy"
	ServiceSteps StepKind = "service"
)

// offer is a step that an implementation of an interface carries out itself
// (Ironic: the clean_step, deploy_step and service_step decorators). One that
// requires a ramdisk is refused where the request forbids one.
type offer struct {
	implementation string
	kinds          []StepKind
	step           Step
}

var settingsInfo = map[string]any{"settings": map[string]any{
	"description": "List of settings, each an object of names and values.", "required": true,
}}

var offers = []offer{
	{"fake", []StepKind{DeploySteps}, Step{Interface: "deploy", Step: "deploy", Priority: 100}},
	{"noop", []StepKind{DeploySteps}, Step{Interface: "deploy", Step: "deploy", Priority: 100}},
	{"fake", []StepKind{CleanSteps}, Step{Interface: "vendor", Step: "log_passthrough", Priority: 1, RequiresRamdisk: true}},
	{"fake", []StepKind{ServiceSteps}, Step{Interface: "vendor", Step: "log_passthrough"}},
	{"fake", []StepKind{ServiceSteps}, Step{Interface: "vendor", Step: StepServiceWait, RequiresRamdisk: true}},
	{"fake", []StepKind{CleanSteps}, Step{Interface: "bios", Step: "apply_configuration", ArgsInfo: settingsInfo, RequiresRamdisk: true}},
	{"fake", []StepKind{CleanSteps}, Step{Interface: "bios", Step: "factory_reset", RequiresRamdisk: true}},
	{"fake", []StepKind{CleanSteps}, Step{Interface: "bios", Step: "cache_bios_settings", RequiresRamdisk: true}},
	{"fake", []StepKind{CleanSteps}, Step{Interface: "firmware", Step: "update", ArgsInfo: settingsInfo, RequiresRamdisk: true}},
}

// StepServiceWait is the fake vendor interface's step that waits for a ramdisk.
const StepServiceWait = "trigger_servicewait"

// directSteps are the steps of the deploy interfaces that write an image
// through the ramdisk (conductor reference, "active / rebuild").
var directSteps = []Step{
	{Interface: "deploy", Step: "deploy", Priority: 100},
	{Interface: "deploy", Step: "write_image", Priority: 80},
	{Interface: "deploy", Step: "prepare_instance_boot", Priority: 60},
	{Interface: "deploy", Step: "tear_down_agent", Priority: 40},
	{Interface: "deploy", Step: "switch_to_tenant_network", Priority: 30},
	{Interface: "deploy", Step: "boot_instance", Priority: 20},
}

// DriverSteps are the steps of a kind that the node's own interfaces offer.
func DriverSteps(n *Node, kind StepKind) []Step {
	var steps []Step
	if kind == DeploySteps && (n.DeployInterface == "direct" || n.DeployInterface == "autodetect") {
		steps = append(steps, directSteps...)
	}
	for _, o := range offers {
		if slices.Contains(o.kinds, kind) && n.Interface(InterfaceType(o.step.Interface)) == o.implementation {
			steps = append(steps, o.step)
		}
	}
	for i := range steps {
		steps[i].Abortable = kind == DeploySteps // Ironic: the default of each decorator
	}
	return steps
}

// Reserved steps are carried out by the conductor, on whichever interface they
// are asked for.
const (
	StepPowerOn  = "power_on"
	StepPowerOff = "power_off"
	StepReboot   = "reboot"
	StepHold     = "hold"
	StepWait     = "wait"
)

// Reserved reports whether the step is the conductor's own.
func (s Step) Reserved() bool {
	return slices.Contains([]string{StepPowerOn, StepPowerOff, StepReboot, StepHold, StepWait}, s.Step)
}

// CheckArgs refuses arguments that the step does not take, and the lack of
// those that it needs.
func (s Step) CheckArgs(args map[string]any) error {
	var unexpected, missing []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, known := s.ArgsInfo[name]; !known {
			unexpected = append(unexpected, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.ArgsInfo)) {
		info, _ := s.ArgsInfo[name].(map[string]any)
		if required, _ := info["required"].(bool); required && args[name] == nil {
			missing = append(missing, name)
		}
	}
	switch {
	case len(unexpected) > 0:
		return fmt.Errorf("step %s got the unexpected arguments: %s", s.Name(), strings.Join(unexpected, ", "))
	case len(missing) > 0:
		return fmt.Errorf("step %s misses the required arguments: %s", s.Name(), strings.Join(missing, ", "))
	}
	return nil
}

// Overridden applies the steps that a user or a template asks for to those that
// the driver offers: the same step takes the asked priority and arguments.
// What is asked for and not offered comes back as rest.
func Overridden(offered, asked []Step) (steps, rest []Step) {
	steps = slices.Clone(offered)
	for _, a := range asked {
		i := slices.IndexFunc(steps, func(s Step) bool { return s.Interface == a.Interface && s.Step == a.Step })
		switch {
		case i >= 0:
			steps[i].Priority, steps[i].Args = a.Priority, a.Args
		case a.Reserved():
			a.Abortable = true
			steps = append(steps, a)
		default:
			rest = append(rest, a)
		}
	}
	return steps, rest
}
