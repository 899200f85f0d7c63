// Package manual drives hardware that somebody powers and boots by hand
// (Ironic's manual-management): power is the stored state and the boot order
// is taken as set up already, as Ironic's noop management has it.
package manual

import (
	"context"

	"ferrule/drivers/driver"
	"ferrule/drivers/fake"
	"ferrule/metal"
)

// Driver is the manual driver.
type Driver struct{}

// Descriptor is the driver's row in the registry. Power is that of the fake
// driver, which is what Ironic gives the hardware type.
func Descriptor() driver.Descriptor {
	return driver.Descriptor{
		Name:       "manual",
		Operations: driver.Join(driver.PowerOperations(fake.Driver{}), driver.BootDeviceOperations(Driver{})),
		Options:    fake.Descriptor().Options,
	}
}

// GetBootDevice answers pxe, persistent.
func (Driver) GetBootDevice(context.Context, driver.Target) (metal.BootDeviceArgs, error) {
	return metal.BootDeviceArgs{Device: "pxe", Persistent: true}, nil
}

// SetBootDevice takes pxe and disk, and trusts that the machine does so.
func (Driver) SetBootDevice(_ context.Context, _ driver.Target, a metal.BootDeviceArgs) (metal.BootDeviceArgs, error) {
	if a.Device != "pxe" && a.Device != "disk" {
		return metal.BootDeviceArgs{}, driver.Errorf(metal.CodeInvalidArgs, "Invalid boot device %s specified, supported are pxe, disk.", a.Device)
	}
	return a, nil
}
