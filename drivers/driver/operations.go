package driver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"

	"ferrule/metal"
)

// Handler runs one operation on its undecoded arguments.
type Handler func(ctx context.Context, t Target, args json.RawMessage) (any, error)

// Operations is what a driver can do. Each constructor below takes the
// concern's interface, so a driver that claims it and lacks a method does not
// compile.
type Operations map[metal.Operation]Handler

// Join makes one table of several.
func Join(tables ...Operations) Operations {
	all := Operations{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// PowerOperations are those of a Power.
func PowerOperations(d Power) Operations {
	return Operations{metal.PowerGet: read(d.GetPower), metal.PowerSet: act(d.SetPower)}
}

// BootDeviceOperations are those of a BootDevice.
func BootDeviceOperations(d BootDevice) Operations {
	return Operations{metal.BootDeviceGet: read(d.GetBootDevice), metal.BootDeviceSet: act(d.SetBootDevice)}
}

// BootModeOperations are those of a BootMode.
func BootModeOperations(d BootMode) Operations {
	return Operations{metal.BootModeGet: read(d.GetBootMode), metal.BootModeSet: act(d.SetBootMode)}
}

// SecureBootOperations are those of a SecureBoot.
func SecureBootOperations(d SecureBoot) Operations {
	return Operations{metal.SecureBootGet: read(d.GetSecureBoot), metal.SecureBootSet: act(d.SetSecureBoot)}
}

// SensorsOperations are those of a Sensors.
func SensorsOperations(d Sensors) Operations {
	return Operations{metal.SensorsGet: read(d.GetSensors)}
}

// IndicatorsOperations are those of an Indicators.
func IndicatorsOperations(d Indicators) Operations {
	set := func(ctx context.Context, t Target, a metal.SetIndicatorArgs) (any, error) {
		return nil, d.SetIndicator(ctx, t, a)
	}
	return Operations{metal.IndicatorsGet: read(d.GetIndicators), metal.IndicatorSet: act(set)}
}

// NMIOperations are those of an NMI.
func NMIOperations(d NMI) Operations {
	inject := func(ctx context.Context, t Target) (any, error) { return nil, d.InjectNMI(ctx, t) }
	return Operations{metal.NMIInject: read(inject)}
}

// VirtualMediaOperations are those of a VirtualMedia.
func VirtualMediaOperations(d VirtualMedia) Operations {
	return Operations{
		metal.VirtualMediaStatus: read(d.MediaStatus),
		metal.VirtualMediaInsert: act(d.InsertMedia),
		metal.VirtualMediaEject:  act(d.EjectMedia),
	}
}

// InspectionOperations are those of an Inspection.
func InspectionOperations(d Inspection) Operations {
	return Operations{metal.InspectHardware: read(d.Inspect), metal.InspectMACs: read(d.MACs)}
}

// FirmwareOperations are those of a Firmware.
func FirmwareOperations(d Firmware) Operations {
	return Operations{metal.FirmwareComponents: read(d.FirmwareComponents)}
}

// ConsoleOperations are those of a Console.
func ConsoleOperations(d Console) Operations {
	start := func(ctx context.Context, t Target) (any, error) { return nil, d.StartConsole(ctx, t) }
	stop := func(ctx context.Context, t Target) (any, error) { return nil, d.StopConsole(ctx, t) }
	return Operations{metal.ConsoleStart: read(start), metal.ConsoleStop: read(stop)}
}

// VendorOperations are those of a Vendor.
func VendorOperations(d Vendor) Operations {
	return Operations{metal.VendorCall: act(d.CallVendor)}
}

// CredentialRotationOperations are those of a CredentialRotation. The new
// password comes to the agent as a ref like the old one, so the caller
// resolves it and hands it over in the context of the call.
func CredentialRotationOperations(d CredentialRotation) Operations {
	rotate := func(ctx context.Context, t Target, _ metal.RotateCredentialArgs) (metal.RotateCredentialResult, error) {
		next, ok := nextCredentials(ctx)
		if !ok {
			return metal.RotateCredentialResult{}, Errorf(metal.CodeCredentialsUnavailable, "no new password was resolved for this rotation")
		}
		return d.RotateCredential(ctx, t, next)
	}
	return Operations{metal.CredentialRotate: act(rotate)}
}

// read wraps an operation without arguments; any given are refused.
func read[R any](f func(context.Context, Target) (R, error)) Handler {
	return func(ctx context.Context, t Target, args json.RawMessage) (any, error) {
		if err := decodeStrictly(args, &struct{}{}); err != nil {
			return nil, Errorf(metal.CodeInvalidArgs, "this operation takes no arguments: %w", err)
		}
		return f(ctx, t)
	}
}

// act wraps an operation with arguments.
func act[A, R any](f func(context.Context, Target, A) (R, error)) Handler {
	return func(ctx context.Context, t Target, args json.RawMessage) (any, error) {
		var a A
		if err := decodeStrictly(args, &a); err != nil {
			return nil, Errorf(metal.CodeInvalidArgs, "arguments not understood: %w", err)
		}
		return f(ctx, t, a)
	}
}

func decodeStrictly(raw json.RawMessage, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}
