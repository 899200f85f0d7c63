// Package fake drives hardware that does not exist, as Ironic's fake-hardware
// does: every call succeeds at once and nothing is remembered. The stored node
// is the truth; its power state comes in with the options.
package fake

import (
	"context"
	"slices"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// PowerOption names the option that carries the node's stored power state.
const PowerOption = "power_state"

// Driver is the fake driver.
type Driver struct{}

// Descriptor is the driver's row in the registry.
func Descriptor() driver.Descriptor {
	var d Driver
	return driver.Descriptor{
		Name: "fake",
		Operations: driver.Join(
			driver.PowerOperations(d),
			driver.BootDeviceOperations(d),
			driver.SensorsOperations(d),
			driver.IndicatorsOperations(d),
			driver.NMIOperations(d),
			driver.InspectionOperations(d),
			driver.FirmwareOperations(d),
			driver.ConsoleOperations(d),
			driver.VendorOperations(d),
		),
		Options: []driver.Option{{
			Name:   PowerOption,
			Help:   "the node's stored power state, which getPower answers",
			Values: []string{"", string(metal.PowerOn), string(metal.PowerOff)},
		}},
	}
}

// GetPower answers the stored state.
func (Driver) GetPower(_ context.Context, t driver.Target) (metal.PowerResult, error) {
	return metal.PowerResult{State: metal.PowerState(t.Options[PowerOption])}, nil
}

// SetPower answers the state asked for.
func (Driver) SetPower(_ context.Context, t driver.Target, a metal.SetPowerArgs) (metal.PowerResult, error) {
	var state metal.PowerState
	switch a.Target {
	case metal.PowerOn:
		state = metal.PowerOn
	case metal.PowerOff, metal.SoftPowerOff:
		state = metal.PowerOff
	default:
		return metal.PowerResult{}, driver.Errorf(metal.CodeInvalidArgs, "power target %q is none of power on, power off, soft power off", a.Target)
	}
	return metal.PowerResult{State: state, Changed: string(state) != t.Options[PowerOption]}, nil
}

// GetBootDevice answers pxe for the next boot, as Ironic's fake management does.
func (Driver) GetBootDevice(context.Context, driver.Target) (metal.BootDeviceArgs, error) {
	return metal.BootDeviceArgs{Device: "pxe"}, nil
}

// SetBootDevice takes pxe only, as Ironic's fake management does.
func (Driver) SetBootDevice(_ context.Context, _ driver.Target, a metal.BootDeviceArgs) (metal.BootDeviceArgs, error) {
	if a.Device != "pxe" {
		return metal.BootDeviceArgs{}, driver.Errorf(metal.CodeInvalidArgs, "Invalid boot device %s specified.", a.Device)
	}
	return a, nil
}

// GetSensors answers no sensor.
func (Driver) GetSensors(context.Context, driver.Target) (metal.SensorsResult, error) {
	return metal.SensorsResult{Sensors: map[string]map[string]map[string]any{}}, nil
}

// GetIndicators answers the two LEDs of Ironic's fake management, both on.
func (Driver) GetIndicators(context.Context, driver.Target) (metal.IndicatorsResult, error) {
	return metal.IndicatorsResult{Indicators: map[string]map[string]metal.Indicator{
		"chassis": {"led-0": {ReadOnly: true, States: []string{"OFF", "ON"}, State: "ON"}},
		"system":  {"led": {States: []string{"BLINKING", "OFF", "ON"}, State: "ON"}},
	}}, nil
}

// SetIndicator takes a state that the LED can show.
func (d Driver) SetIndicator(ctx context.Context, t driver.Target, a metal.SetIndicatorArgs) error {
	known, err := d.GetIndicators(ctx, t)
	if err != nil {
		return err
	}
	led, ok := known.Indicators[a.Component][a.Indicator]
	switch {
	case !ok:
		return driver.Errorf(metal.CodeInvalidArgs, "there is no indicator %s of component %s", a.Indicator, a.Component)
	case led.ReadOnly:
		return driver.Errorf(metal.CodeUnsupported, "indicator %s of component %s can only be read", a.Indicator, a.Component)
	case !slices.Contains(led.States, a.State):
		return driver.Errorf(metal.CodeInvalidArgs, "indicator %s cannot show %q", a.Indicator, a.State)
	}
	return nil
}

// InjectNMI does nothing.
func (Driver) InjectNMI(context.Context, driver.Target) error { return nil }

// Inspect finds nothing.
func (Driver) Inspect(context.Context, driver.Target) (metal.InspectResult, error) {
	return metal.InspectResult{Properties: map[string]string{}}, nil
}

// MACs finds nothing.
func (Driver) MACs(context.Context, driver.Target) (metal.MACsResult, error) {
	return metal.MACsResult{MACs: []string{}}, nil
}

// FirmwareComponents finds nothing.
func (Driver) FirmwareComponents(context.Context, driver.Target) (metal.FirmwareComponentsResult, error) {
	return metal.FirmwareComponentsResult{Components: []metal.FirmwareComponentInfo{}}, nil
}

// StartConsole does nothing.
func (Driver) StartConsole(context.Context, driver.Target) error { return nil }

// StopConsole does nothing.
func (Driver) StopConsole(context.Context, driver.Target) error { return nil }

// vendorWords are what the example methods of Ironic's fake vendor interface
// compare their argument with.
var vendorWords = map[string]string{
	"second_method": "kazoo", "third_method_sync": "meow", "fourth_method_shared_lock": "woof",
}

// CallVendor is the example methods of Ironic's fake vendor interface.
func (Driver) CallVendor(_ context.Context, _ driver.Target, a metal.VendorCallArgs) (metal.VendorCallResult, error) {
	word, compares := vendorWords[a.Method]
	switch {
	case a.Method == "log_passthrough":
		return metal.VendorCallResult{}, nil
	case !compares:
		return metal.VendorCallResult{}, driver.Errorf(metal.CodeUnsupported, "there is no vendor method %q", a.Method)
	}
	for name := range a.Arguments {
		if name != "bar" {
			return metal.VendorCallResult{}, driver.Errorf(metal.CodeInvalidArgs, "%s got an unexpected argument %q", a.Method, name)
		}
	}
	return metal.VendorCallResult{Return: a.Arguments["bar"] == word}, nil
}
