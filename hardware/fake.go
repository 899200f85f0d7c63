package hardware

import "ferrule/metal"

// The fake implementations do what Ironic's do: every call succeeds at once. The
// conductor process carries them out itself.

// fakeRequest: power is what the node's row says.
func fakeRequest(n *metal.Node) (metal.Request, error) {
	state := ""
	if n.PowerState != nil {
		state = *n.PowerState
	}
	return metal.Request{DriverOptionsJSON: []byte(metal.ToJSON(map[string]string{"power_state": state}))}, nil
}

var fakePower = Interface{
	Type: metal.PowerInterface, Name: "fake",
	Needs:   []metal.Operation{metal.PowerGet, metal.PowerSet},
	Driver:  "fake",
	Request: fakeRequest,
	Power:   Power{Targets: allPowerTargets},
}

var fakeManagement = Interface{
	Type: metal.ManagementInterface, Name: "fake",
	Offers:     []metal.Operation{metal.BootDeviceGet, metal.BootDeviceSet, metal.IndicatorsGet, metal.SensorsGet},
	Driver:     "fake",
	Request:    fakeRequest,
	Management: Management{BootDevices: []string{"pxe"}},
}

var fakeBoot = Interface{
	Type: metal.BootInterface, Name: "fake",
	Capabilities: []string{"ipxe_boot", "pxe_boot"},
	Boot: Boot{
		Prepare: func([]string) []Task { return []Task{SetBootDevice("pxe", false).Tried()} },
		Again:   func() []Task { return []Task{SetBootDevice("pxe", false).Tried()} },
	},
}

var fakeDeploy = Interface{
	Type: metal.DeployInterface, Name: "fake",
	Steps: []Step{deployStep("deploy", 100, nil)},
}

var fakeInspect = Interface{Type: metal.InspectInterface, Name: "fake"}

var fakeRescue = Interface{Type: metal.RescueInterface, Name: "fake"}

var fakeStorage = Interface{Type: metal.StorageInterface, Name: "fake"}

var fakeRAID = Interface{Type: metal.RAIDInterface, Name: "fake", RAID: usualRAID}

var fakeConsole = Interface{
	Type: metal.ConsoleInterface, Name: "fake",
	Needs:   []metal.Operation{metal.ConsoleStart, metal.ConsoleStop},
	Driver:  "fake",
	Request: fakeRequest,
	Console: usualConsole,
}

// usualConsole is started and stopped by an operation of the driver.
var usualConsole = Console{
	Start: []Task{Task{Do: TaskTurnConsole, Args: metal.ToJSON(true)}.Tried()},
	Stop:  []Task{Task{Do: TaskTurnConsole, Args: metal.ToJSON(false)}.Tried()},
}

// settingsInfo describes the one argument of steps that apply settings.
var settingsInfo = map[string]any{"settings": map[string]any{
	"description": "List of settings, each an object of names and values.", "required": true,
}}

// cleanStep is a step of manual cleaning that needs a ramdisk.
func cleanStep(on metal.InterfaceType, name string, info map[string]any, tasks func(m Machine, s metal.Step) []Task) Step {
	return Step{
		Step:  metal.Step{Interface: string(on), Step: name, ArgsInfo: info, RequiresRamdisk: true},
		Kinds: []metal.StepKind{metal.CleanSteps}, Tasks: tasks,
	}
}

// fakeBIOS shows the settings that it is told to apply.
var fakeBIOS = Interface{
	Type: metal.BIOSInterface, Name: "fake",
	Steps: []Step{
		cleanStep(metal.BIOSInterface, "apply_configuration", settingsInfo, func(_ Machine, s metal.Step) []Task {
			return []Task{{Do: TaskSetBIOS, Args: metal.ToJSON(s.Args["settings"])}}
		}),
		cleanStep(metal.BIOSInterface, "factory_reset", nil, func(Machine, metal.Step) []Task {
			return []Task{{Do: TaskSetBIOS, Args: "[]"}}
		}),
		cleanStep(metal.BIOSInterface, "cache_bios_settings", nil, nil),
	},
}

var fakeFirmware = Interface{
	Type: metal.FirmwareInterface, Name: "fake",
	Steps: []Step{cleanStep(metal.FirmwareInterface, "update", settingsInfo, nil)},
}
