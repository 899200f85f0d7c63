package ramdisk

import (
	"context"
	"errors"

	"ferrule/lab/event"
)

// params are the arguments of a command.
type params map[string]any

// object is the member named where it is an object, else empty.
func (p params) object(name string) params {
	m, _ := p[name].(map[string]any)
	return m
}

func (p params) text(name string) string {
	s, _ := p[name].(string)
	return s
}

func (p params) stepName() string { return p.object("step").text("step") }

func (p params) nodeUUID() string { return p.object("node").text("uuid") }

// commandSpec is one command of the agent. do returns the result, what is to
// be done once the answer was sent (nil: nothing), and an error.
type commandSpec struct {
	async bool
	do    func(*agent, context.Context, params) (any, func(), error)
}

// extensions is every command by extension and name.
var extensions = map[string]map[string]commandSpec{
	"clean": {
		"get_clean_steps":    {do: getSteps("clean")},
		"execute_clean_step": {async: true, do: executeStep("clean")},
	},
	"deploy": {
		"get_deploy_steps":    {do: getSteps("deploy")},
		"execute_deploy_step": {async: true, do: executeStep("deploy")},
	},
	"service": {
		"get_service_steps":    {do: getSteps("service")},
		"execute_service_step": {async: true, do: executeStep("service")},
	},
	"standby": {
		"prepare_image":       {async: true, do: prepareImage},
		"run_image":           {async: true, do: runImage},
		"power_off":           {async: true, do: powerOff},
		"sync":                {do: syncDisks},
		"get_partition_uuids": {do: partitionUUIDs},
	},
	"image":  {"install_bootloader": {async: true, do: installBootloader}},
	"rescue": {"finalize_rescue": {do: finalizeRescue}},
	"log":    {"collect_system_logs": {do: collectLogs}},
	"poll":   {"get_hardware_info": {do: hardwareInfo}},
	"system": {"lockdown": {do: lockdown}},
}

func prepareImage(a *agent, ctx context.Context, p params) (any, func(), error) {
	text, err := a.writeImage(ctx, p.object("image_info"), p.text("configdrive"))
	return text, nil, err
}

func runImage(a *agent, _ context.Context, _ params) (any, func(), error) {
	return "rebooting", a.Reboot, nil
}

func powerOff(a *agent, _ context.Context, _ params) (any, func(), error) {
	return "powering off", a.PowerOff, nil
}

// syncDisks has nothing to do: each write closed its file.
func syncDisks(*agent, context.Context, params) (any, func(), error) { return nil, nil, nil }

func partitionUUIDs(a *agent, _ context.Context, _ params) (any, func(), error) {
	if !a.wrote {
		return map[string]any{}, nil, nil
	}
	return map[string]any{
		"root uuid":                 a.Disk.Identity(),
		"efi system partition uuid": nil,
		"PReP Boot partition uuid":  nil,
		"partitions":                map[string]any{},
	}, nil, nil
}

func installBootloader(a *agent, _ context.Context, _ params) (any, func(), error) {
	if a.Disk.Written() == nil {
		return nil, nil, errors.New("there is no image on the disk to boot")
	}
	return nil, nil, nil
}

// finalizeRescue takes the hashed password and ends the agent: the rescue
// system stays.
func finalizeRescue(a *agent, _ context.Context, p params) (any, func(), error) {
	if p.text("rescue_password") == "" {
		return nil, nil, errors.New("rescue_password is missing")
	}
	if hashed, _ := p["hashed"].(bool); !hashed {
		return nil, nil, errors.New("rescue_password must come hashed")
	}
	return nil, a.end("rescue finalized"), nil
}

func lockdown(a *agent, _ context.Context, _ params) (any, func(), error) {
	return nil, a.end("locked down"), nil
}

// end stops the agent's API and its heartbeats, not the machine.
func (a *agent) end(reason string) func() {
	return func() {
		a.Log.Add(event.RamdiskStopped, "reason", reason)
		a.stopAPI()
	}
}

func collectLogs(a *agent, _ context.Context, _ params) (any, func(), error) {
	logs, err := a.systemLogs()
	return map[string]any{"system_logs": logs}, nil, err
}

func hardwareInfo(a *agent, _ context.Context, _ params) (any, func(), error) {
	inv := a.Hardware.inventory(bootInterface(a.params["BOOTIF"]))
	value, err := asObject(inv)
	return value, nil, err
}
