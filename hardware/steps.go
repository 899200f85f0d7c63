package hardware

import (
	"slices"

	"ferrule/metal"
)

// offer is a step that an implementation of an interface carries out itself
// (Ironic: the clean_step, deploy_step and service_step decorators). One that
// requires a ramdisk is refused where the request forbids one.
type offer struct {
	implementation string
	kinds          []metal.StepKind
	step           metal.Step
}

var settingsInfo = map[string]any{"settings": map[string]any{
	"description": "List of settings, each an object of names and values.", "required": true,
}}

var offers = []offer{
	{"fake", []metal.StepKind{metal.DeploySteps}, metal.Step{Interface: "deploy", Step: "deploy", Priority: 100}},
	{"noop", []metal.StepKind{metal.DeploySteps}, metal.Step{Interface: "deploy", Step: "deploy", Priority: 100}},
	{"fake", []metal.StepKind{metal.CleanSteps}, metal.Step{Interface: "vendor", Step: "log_passthrough", Priority: 1, RequiresRamdisk: true}},
	{"fake", []metal.StepKind{metal.ServiceSteps}, metal.Step{Interface: "vendor", Step: "log_passthrough"}},
	{"fake", []metal.StepKind{metal.ServiceSteps}, metal.Step{Interface: "vendor", Step: StepServiceWait, RequiresRamdisk: true}},
	{"fake", []metal.StepKind{metal.CleanSteps}, metal.Step{Interface: "bios", Step: "apply_configuration", ArgsInfo: settingsInfo, RequiresRamdisk: true}},
	{"fake", []metal.StepKind{metal.CleanSteps}, metal.Step{Interface: "bios", Step: "factory_reset", RequiresRamdisk: true}},
	{"fake", []metal.StepKind{metal.CleanSteps}, metal.Step{Interface: "bios", Step: "cache_bios_settings", RequiresRamdisk: true}},
	{"fake", []metal.StepKind{metal.CleanSteps}, metal.Step{Interface: "firmware", Step: "update", ArgsInfo: settingsInfo, RequiresRamdisk: true}},
}

// StepServiceWait is the fake vendor interface's step that waits for a ramdisk.
const StepServiceWait = "trigger_servicewait"

// directSteps are the steps of the deploy interfaces that write an image
// through the ramdisk (conductor reference, "active / rebuild").
var directSteps = []metal.Step{
	{Interface: "deploy", Step: "deploy", Priority: 100},
	{Interface: "deploy", Step: "write_image", Priority: 80},
	{Interface: "deploy", Step: "prepare_instance_boot", Priority: 60},
	{Interface: "deploy", Step: "tear_down_agent", Priority: 40},
	{Interface: "deploy", Step: "switch_to_tenant_network", Priority: 30},
	{Interface: "deploy", Step: "boot_instance", Priority: 20},
}

// DriverSteps are the steps of a kind that the node's own interfaces offer.
func DriverSteps(n *metal.Node, kind metal.StepKind) []metal.Step {
	var steps []metal.Step
	if kind == metal.DeploySteps && (n.DeployInterface == "direct" || n.DeployInterface == "autodetect") {
		steps = append(steps, directSteps...)
	}
	for _, o := range offers {
		if slices.Contains(o.kinds, kind) && n.Interface(metal.InterfaceType(o.step.Interface)) == o.implementation {
			steps = append(steps, o.step)
		}
	}
	for i := range steps {
		steps[i].Abortable = kind == metal.DeploySteps // Ironic: the default of each decorator
	}
	return steps
}
