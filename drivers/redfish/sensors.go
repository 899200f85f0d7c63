package redfish

import (
	"context"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// reading is one field of a sensor: Ironic's name, Redfish's, and whether it
// is a number.
type reading struct {
	name, property string
	numeric        bool
}

var (
	fanReadings = []reading{
		{"identity", "MemberId", false}, {"max_reading_range", "MaxReadingRange", true}, {"min_reading_range", "MinReadingRange", true},
		{"reading", "Reading", true}, {"reading_units", "ReadingUnits", false}, {"serial_number", "SerialNumber", false},
		{"physical_context", "PhysicalContext", false},
	}
	temperatureReadings = []reading{
		{"identity", "MemberId", false}, {"max_reading_range_temp", "MaxReadingRangeTemp", true},
		{"min_reading_range_temp", "MinReadingRangeTemp", true}, {"reading_celsius", "ReadingCelsius", true},
		{"physical_context", "PhysicalContext", false}, {"sensor_number", "SensorNumber", true},
	}
	powerReadings = []reading{
		{"power_capacity_watts", "PowerCapacityWatts", true}, {"line_input_voltage", "LineInputVoltage", true},
		{"last_power_output_watts", "LastPowerOutputWatts", true}, {"serial_number", "SerialNumber", false},
	}
	driveReadings = []reading{{"name", "Name", false}, {"model", "Model", false}, {"capacity_bytes", "CapacityBytes", true}}
)

// GetSensors reads fans, temperatures, power supplies and drives (Ironic:
// RedfishManagement.get_sensors_data). What cannot be read is left out.
func (d *Driver) GetSensors(ctx context.Context, t driver.Target) (metal.SensorsResult, error) {
	return call(ctx, d, t, func(c *client) (metal.SensorsResult, error) {
		system, err := c.system()
		if err != nil {
			return metal.SensorsResult{}, err
		}
		all := map[string]map[string]map[string]any{"Fan": {}, "Temperature": {}, "Power": {}, "Drive": {}}
		chassis, err := c.readAll(system.child("Links").links("Chassis"))
		if err != nil {
			return metal.SensorsResult{}, err
		}
		for _, ch := range chassis {
			parts, err := c.readAll(nonEmpty(ch.link("Thermal"), ch.link("Power")))
			if err != nil {
				return metal.SensorsResult{}, err
			}
			for _, part := range parts {
				place := "@" + ch.text("Id")
				addSensors(all["Fan"], part.children("Fans"), fanReadings, place)
				addSensors(all["Temperature"], part.children("Temperatures"), temperatureReadings, place)
				addSensors(all["Power"], part.children("PowerSupplies"), powerReadings, ":"+part.text("Id")+place)
			}
		}
		return metal.SensorsResult{Sensors: all}, c.addDrives(system, all["Drive"])
	})
}

func addSensors(into map[string]map[string]any, sensors []fields, readings []reading, place string) {
	for _, s := range sensors {
		if id := s.text("MemberId"); id != "" {
			into[id+place] = sensorOf(s, readings)
		}
	}
}

func sensorOf(s fields, readings []reading) map[string]any {
	out := map[string]any{}
	for _, r := range readings {
		if n, ok := s.number(r.property); ok && r.numeric {
			out[r.name] = n
		} else if text := s.text(r.property); text != "" && !r.numeric {
			out[r.name] = text
		}
	}
	status := s.child("Status")
	for name, property := range map[string]string{"state": "State", "health": "Health"} {
		if text := status.text(property); text != "" {
			out[name] = text
		}
	}
	return out
}

func (c *client) addDrives(system document, into map[string]map[string]any) error {
	storages, err := c.optional(c.linked(system, "Storage"))
	if err != nil {
		return err
	}
	for _, storage := range storages {
		drives, err := c.readAll(storage.links("Drives"))
		if err != nil {
			return err
		}
		for _, drive := range drives {
			sensor := sensorOf(drive.fields, driveReadings)
			if sensor["state"] == nil && sensor["health"] != nil {
				sensor["state"] = "Enabled" // some BMCs leave it out of a drive that works
			}
			into[drive.text("Name")+":"+storage.text("Id")+"@"+system.text("Id")] = sensor
		}
	}
	return nil
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
