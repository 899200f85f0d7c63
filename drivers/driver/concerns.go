package driver

import (
	"context"

	"ferrule/metal"
)

// Power is the concern power.
type Power interface {
	GetPower(context.Context, Target) (metal.PowerResult, error)
	SetPower(context.Context, Target, metal.SetPowerArgs) (metal.PowerResult, error)
}

// BootDevice sets what a machine boots next. SetBootDevice returns what the
// BMC kept: a persistent override may have become one for the next boot only.
type BootDevice interface {
	GetBootDevice(context.Context, Target) (metal.BootDeviceArgs, error)
	SetBootDevice(context.Context, Target, metal.BootDeviceArgs) (metal.BootDeviceArgs, error)
}

// BootMode reads and sets bios or uefi.
type BootMode interface {
	GetBootMode(context.Context, Target) (metal.BootModeArgs, error)
	SetBootMode(context.Context, Target, metal.BootModeArgs) (metal.BootModeArgs, error)
}

// SecureBoot reads and sets UEFI secure boot.
type SecureBoot interface {
	GetSecureBoot(context.Context, Target) (metal.SecureBootArgs, error)
	SetSecureBoot(context.Context, Target, metal.SecureBootArgs) (metal.SecureBootArgs, error)
}

// Sensors reads what the BMC measures.
type Sensors interface {
	GetSensors(context.Context, Target) (metal.SensorsResult, error)
}

// Indicators reads and sets LEDs.
type Indicators interface {
	GetIndicators(context.Context, Target) (metal.IndicatorsResult, error)
	SetIndicator(context.Context, Target, metal.SetIndicatorArgs) error
}

// NMI interrupts the machine's operating system.
type NMI interface {
	InjectNMI(context.Context, Target) error
}

// CredentialRotation gives the account that the target's credentials name a
// new password, and proves it by logging in with it.
type CredentialRotation interface {
	RotateCredential(ctx context.Context, t Target, next Credentials) (metal.RotateCredentialResult, error)
}

// VirtualMedia is the concern virtual-media.
type VirtualMedia interface {
	MediaStatus(context.Context, Target) (metal.MediaStatus, error)
	InsertMedia(context.Context, Target, metal.InsertMediaArgs) (metal.MediaStatus, error)
	EjectMedia(context.Context, Target, metal.EjectMediaArgs) (metal.MediaStatus, error)
}

// Inspection is the concern inspect.
type Inspection interface {
	Inspect(context.Context, Target) (metal.InspectResult, error)
	MACs(context.Context, Target) (metal.MACsResult, error)
}

// Firmware is the concern firmware.
type Firmware interface {
	FirmwareComponents(context.Context, Target) (metal.FirmwareComponentsResult, error)
}

// Console is the concern console.
type Console interface {
	StartConsole(context.Context, Target) error
	StopConsole(context.Context, Target) error
}

// Vendor is what a driver offers beyond the concerns.
type Vendor interface {
	CallVendor(context.Context, Target, metal.VendorCallArgs) (metal.VendorCallResult, error)
}
