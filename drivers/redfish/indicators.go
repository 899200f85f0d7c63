package redfish

import (
	"context"
	"maps"
	"slices"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

const indicatorLED = "IndicatorLED"

// ledStates are Ironic's names of what an LED shows, and Redfish's.
var ledStates = map[string]string{"ON": "Lit", "OFF": "Off", "BLINKING": "Blinking"}

// led is one indicator and the resource that it belongs to.
type led struct {
	component, id string
	resource      document
}

// GetIndicators lists the LEDs of the System, its chassis and its drives.
func (d *Driver) GetIndicators(ctx context.Context, t driver.Target) (metal.IndicatorsResult, error) {
	return call(ctx, d, t, func(c *client) (metal.IndicatorsResult, error) {
		leds, err := c.leds()
		result := metal.IndicatorsResult{Indicators: map[string]map[string]metal.Indicator{}}
		for _, l := range leds {
			if result.Indicators[l.component] == nil {
				result.Indicators[l.component] = map[string]metal.Indicator{}
			}
			result.Indicators[l.component][l.id] = metal.Indicator{States: slices.Sorted(maps.Keys(ledStates)), State: ledState(l.resource)}
		}
		return result, err
	})
}

func ledState(resource document) string {
	shown := resource.text(indicatorLED)
	for name, state := range ledStates {
		if shown == state {
			return name
		}
	}
	return "UNKNOWN"
}

// SetIndicator sets one LED.
func (d *Driver) SetIndicator(ctx context.Context, t driver.Target, a metal.SetIndicatorArgs) error {
	state, ok := ledStates[a.State]
	if !ok {
		return driver.Errorf(metal.CodeInvalidArgs, "indicator state %q is none of ON, OFF, BLINKING", a.State)
	}
	return d.with(ctx, t, func(c *client) error {
		leds, err := c.leds()
		if err != nil {
			return err
		}
		for _, l := range leds {
			if l.component == a.Component && l.id == a.Indicator {
				return c.patch(l.resource, map[string]any{indicatorLED: state})
			}
		}
		return driver.Errorf(metal.CodeInvalidArgs, "BMC %s has no indicator %q of component %q", c.access.address, a.Indicator, a.Component)
	})
}

func (c *client) leds() ([]led, error) {
	system, err := c.system()
	if err != nil {
		return nil, err
	}
	leds := []led{{"system", system.text("UUID"), system}}
	chassis, err := c.readAll(system.child("Links").links("Chassis"))
	if err != nil {
		return nil, err
	}
	for _, ch := range chassis {
		leds = append(leds, led{"chassis", ch.text("UUID"), ch})
	}
	storages, err := c.optional(c.linked(system, "Storage"))
	if err != nil {
		return nil, err
	}
	for _, storage := range storages {
		drives, err := c.readAll(storage.links("Drives"))
		if err != nil {
			return nil, err
		}
		for _, drive := range drives {
			leds = append(leds, led{"disk", storage.text("Id") + ":" + drive.text("Id"), drive})
		}
	}
	return slices.DeleteFunc(leds, func(l led) bool { return l.id == "" || l.resource.text(indicatorLED) == "" }), nil
}
