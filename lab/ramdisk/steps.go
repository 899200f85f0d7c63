package ramdisk

import (
	"context"
	"encoding/json"
	"fmt"
)

// The one hardware manager of the ramdisk: the key of its steps, the key of
// its version, and the version.
const (
	managerName        = "GenericHardwareManager"
	managerVersionName = "generic_hardware_manager"
	managerVersion     = "1.2"
)

// stepSpec is one step that the hardware manager offers.
type stepSpec struct {
	Step            string         `json:"step"`
	Priority        int            `json:"priority"`
	Interface       string         `json:"interface"`
	RebootRequested bool           `json:"reboot_requested"`
	Abortable       bool           `json:"abortable"`
	ArgsInfo        map[string]any `json:"argsinfo,omitempty"`
}

var imageArguments = map[string]any{
	"image_info":  map[string]any{"description": "What to write", "required": true},
	"configdrive": map[string]any{"description": "Config drive to write", "required": false},
}

var injectArguments = map[string]any{
	"files":     map[string]any{"description": "Files to inject, each with its path and its content", "required": false},
	"verify_ca": map[string]any{"description": "Whether to verify what files are loaded from", "required": false},
}

// stepsOf is what the manager offers for each type of step.
var stepsOf = map[string][]stepSpec{
	"clean": {
		{Step: "erase_devices", Priority: 10, Interface: "deploy", Abortable: true},
		{Step: "erase_devices_metadata", Priority: 99, Interface: "deploy", Abortable: true},
		{Step: "erase_devices_express", Interface: "deploy", Abortable: true},
		{Step: "erase_pstore", Interface: "deploy", Abortable: true},
		{Step: "clean_uefi_nvram", Interface: "deploy", Abortable: true},
		{Step: "delete_configuration", Interface: "raid", Abortable: true},
		{Step: "create_configuration", Interface: "raid", Abortable: true},
		{Step: "burnin_cpu", Interface: "deploy", Abortable: true},
		{Step: "burnin_disk", Interface: "deploy", Abortable: true},
		{Step: "burnin_memory", Interface: "deploy", Abortable: true},
		{Step: "burnin_network", Interface: "deploy", Abortable: true},
	},
	"deploy": {
		{Step: "erase_devices_metadata", Interface: "deploy"},
		{Step: "apply_configuration", Interface: "raid"},
		{Step: "clean_uefi_nvram", Interface: "deploy"},
		{Step: "write_image", Interface: "deploy", ArgsInfo: imageArguments},
		{Step: "inject_files", Interface: "deploy", ArgsInfo: injectArguments},
	},
	"service": {
		{Step: "delete_configuration", Interface: "raid"},
		{Step: "create_configuration", Interface: "raid"},
		{Step: "apply_configuration", Interface: "raid"},
		{Step: "burnin_cpu", Interface: "deploy"},
		{Step: "burnin_memory", Interface: "deploy"},
		{Step: "burnin_network", Interface: "deploy"},
		{Step: "write_image", Interface: "deploy", ArgsInfo: imageArguments},
		{Step: "inject_files", Interface: "deploy", ArgsInfo: injectArguments},
	},
}

func getSteps(kind string) func(*agent, context.Context, params) (any, func(), error) {
	return func(*agent, context.Context, params) (any, func(), error) {
		return map[string]any{
			kind + "_steps":            map[string]any{managerName: stepsOf[kind]},
			"hardware_manager_version": map[string]any{managerVersionName: managerVersion},
		}, nil, nil
	}
}

func executeStep(kind string) func(*agent, context.Context, params) (any, func(), error) {
	return func(a *agent, ctx context.Context, p params) (any, func(), error) {
		if given := p.object(kind + "_version"); given != nil && given.text(managerVersionName) != managerVersion {
			return nil, nil, fmt.Errorf("%w: asked of %v", errVersionMismatch, given)
		}
		name := p.stepName()
		if !offered(kind, name, p.object("step").text("interface")) {
			return nil, nil, fmt.Errorf("no hardware manager offers the %s step %q", kind, name)
		}
		value, err := a.step(ctx, name, p.object("step").object("args"))
		if err != nil {
			return nil, nil, fmt.Errorf("%s step %s: %w", kind, name, err)
		}
		return map[string]any{kind + "_result": value, kind + "_step": p["step"]}, nil, nil
	}
}

func offered(kind, name, iface string) bool {
	for _, s := range stepsOf[kind] {
		if s.Step == name && s.Interface == iface {
			return true
		}
	}
	return false
}

// step does the work of a step. What this machine has nothing of (RAID,
// pstore) succeeds without doing anything.
func (a *agent) step(ctx context.Context, name string, args params) (any, error) {
	switch name {
	case "erase_devices":
		return nil, a.Disk.Erase()
	case "erase_devices_metadata", "erase_devices_express":
		return nil, a.Disk.EraseMetadata()
	case "write_image":
		return a.writeImage(ctx, args.object("image_info"), args.text("configdrive"))
	}
	return nil, nil
}

// asObject is v as its JSON would read.
func asObject(v any) (map[string]any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	return m, json.Unmarshal(b, &m)
}
