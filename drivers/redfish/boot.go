package redfish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/redfish"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// Properties of a System's Boot object.
const (
	bootTarget  = "BootSourceOverrideTarget"
	bootEnabled = "BootSourceOverrideEnabled"
	bootMode    = "BootSourceOverrideMode"
)

// bootDevices are Ironic's names and the targets that mean them, the usual one
// first.
var bootDevices = []struct {
	name    string
	targets []redfish.BootSourceOverrideTarget
}{
	{"pxe", []redfish.BootSourceOverrideTarget{redfish.PxeBootSourceOverrideTarget}},
	{"disk", []redfish.BootSourceOverrideTarget{redfish.HddBootSourceOverrideTarget}},
	{"cdrom", []redfish.BootSourceOverrideTarget{redfish.CdBootSourceOverrideTarget, "UsbCd"}},
	{"bios", []redfish.BootSourceOverrideTarget{redfish.BiosSetupBootSourceOverrideTarget}},
	{"uefihttp", []redfish.BootSourceOverrideTarget{redfish.UefiHTTPBootSourceOverrideTarget}},
}

// GetBootDevice reads the boot override. A target that Ironic has no name for
// is "".
func (d *Driver) GetBootDevice(ctx context.Context, t driver.Target) (metal.BootDeviceArgs, error) {
	return call(ctx, d, t, func(c *client) (metal.BootDeviceArgs, error) {
		system, err := c.system()
		if err != nil {
			return metal.BootDeviceArgs{}, err
		}
		return bootDevice(system.child("Boot")), nil
	})
}

func bootDevice(boot fields) metal.BootDeviceArgs {
	target := redfish.BootSourceOverrideTarget(boot.text(bootTarget))
	persistent := boot.text(bootEnabled) == string(redfish.ContinuousBootSourceOverrideEnabled)
	for _, dev := range bootDevices {
		if slices.Contains(dev.targets, target) {
			return metal.BootDeviceArgs{Device: dev.name, Persistent: persistent}
		}
	}
	return metal.BootDeviceArgs{Persistent: persistent}
}

// SetBootDevice sets the boot override and reads it back.
func (d *Driver) SetBootDevice(ctx context.Context, t driver.Target, a metal.BootDeviceArgs) (metal.BootDeviceArgs, error) {
	i := slices.IndexFunc(bootDevices, func(dev struct {
		name    string
		targets []redfish.BootSourceOverrideTarget
	}) bool {
		return dev.name == a.Device
	})
	if i < 0 {
		return metal.BootDeviceArgs{}, driver.Errorf(metal.CodeInvalidArgs, "boot device %q is none of pxe, disk, cdrom, bios, uefihttp", a.Device)
	}
	return call(ctx, d, t, func(c *client) (metal.BootDeviceArgs, error) {
		system, err := c.system()
		if err != nil {
			return metal.BootDeviceArgs{}, err
		}
		target, err := c.bootTargetFor(system, bootDevices[i].targets)
		if err != nil {
			return metal.BootDeviceArgs{}, err
		}
		return c.setBootDevice(system, target, a.Persistent)
	})
}

// bootTargetFor picks the target that the BMC lists. Supermicro boots virtual
// media only as UsbCd, though it lists Cd, too.
func (c *client) bootTargetFor(system document, targets []redfish.BootSourceOverrideTarget) (string, error) {
	allowed := system.child("Boot").texts(bootTarget + "@Redfish.AllowableValues")
	if len(allowed) == 0 {
		return string(targets[0]), nil
	}
	candidates := slices.Clone(targets)
	if strings.EqualFold(system.text("Manufacturer"), "supermicro") {
		slices.Reverse(candidates)
	}
	for _, t := range candidates {
		if slices.Contains(allowed, string(t)) {
			return string(t), nil
		}
	}
	return "", driver.Errorf(metal.CodeUnsupported, "BMC %s: %s cannot boot from %s; it lists %s", c.access.address, system.path, targets[0], strings.Join(allowed, ", "))
}

func (c *client) setBootDevice(system document, target string, persistent bool) (metal.BootDeviceArgs, error) {
	enabled := redfish.OnceBootSourceOverrideEnabled
	if persistent && !c.findings.noContinuous {
		enabled = redfish.ContinuousBootSourceOverrideEnabled
	}
	kept, err := c.override(system, target, string(enabled))
	var r *refusal
	if errors.As(err, &r) && enabled == redfish.ContinuousBootSourceOverrideEnabled && r.status < http.StatusInternalServerError && r.status != http.StatusUnauthorized {
		c.log.Warn("the BMC keeps no persistent boot override; setting it for the next boot only", "error", err)
		if kept, err = c.override(system, target, string(redfish.OnceBootSourceOverrideEnabled)); err == nil {
			c.findings.noContinuous = true
		}
	}
	if err != nil {
		return metal.BootDeviceArgs{}, err
	}
	result := bootDevice(kept)
	if result.Device == "" { // nothing to read back
		result = bootDevice(asFields(map[string]any{bootTarget: target, bootEnabled: enabled}))
	}
	if result.Persistent && !persistent {
		c.log.Warn("the BMC made the boot override persistent though it was asked for the next boot only", "target", target)
	}
	return result, nil
}

// override writes the boot override and returns what the BMC then shows.
func (c *client) override(system document, target, enabled string) (fields, error) {
	boot := map[string]any{bootTarget: target, bootEnabled: enabled}
	for _, dropped := range c.findings.bootDropped {
		delete(boot, dropped)
	}
	if mode := system.child("Boot").text(bootMode); c.findings.bootMode && mode != "" {
		boot[bootMode] = mode
	}
	where, err := c.patchBoot(system, boot)
	if err != nil {
		return nil, err
	}
	return c.bootKept(where, boot)
}

// maxAdapt bounds how often a write is adapted to what the BMC says of it.
const maxAdapt = 4

// patchBoot writes Boot to the resource that takes it, adapted where the BMC
// names a property that it does not know, does not write, or misses. It
// returns the path of the resource.
func (c *client) patchBoot(system document, boot map[string]any) (string, error) {
	settings := system.child("@Redfish.Settings").link("SettingsObject")
	for range maxAdapt {
		where := system
		if c.findings.bootSettings && settings != "" {
			var err error
			if where, err = c.get(settings); err != nil {
				return "", err
			}
		}
		err := c.patch(where, c.settingsPayload(map[string]any{"Boot": boot}))
		if err == nil {
			return where.path, nil
		}
		var r *refusal
		if !errors.As(err, &r) || r.status >= 500 || !c.adaptBoot(r, system, boot, settings != "" && where.path == system.path) {
			return "", err
		}
		if system, err = c.get(system.path); err != nil {
			return "", err
		}
	}
	return "", driver.Errorf(metal.CodeBMCError, "BMC %s refuses the boot override of %s in every form tried", c.access.address, system.path)
}

func (c *client) settingsPayload(payload map[string]any) map[string]any {
	if c.findings.applyTime {
		payload["@Redfish.SettingsApplyTime"] = map[string]any{"ApplyTime": "OnReset"}
	}
	return payload
}

// adaptBoot changes what is sent, once for each thing that the BMC objects to;
// false where nothing is left to try.
func (c *client) adaptBoot(r *refusal, system document, boot map[string]any, elsewhere bool) bool {
	shown := system.child("Boot")
	_, modeSent := boot[bootMode]
	_, enabledSent := boot[bootEnabled]
	switch {
	case elsewhere && r.notWritable():
		c.findings.bootSettings = true
	case !c.findings.applyTime && r.wantsProperty("SettingsApplyTime"):
		c.findings.applyTime = true
	case !modeSent && shown.text(bootMode) != "" && r.wantsProperty(bootMode):
		boot[bootMode] = shown.text(bootMode)
		c.findings.bootMode = true
	case modeSent && len(boot) > 1 && r.rejectsProperty(bootMode):
		delete(boot, bootMode)
		c.findings.bootMode = false
	// Some BMCs refuse a value that is there already.
	case enabledSent && r.names(bootEnabled) && (shown.text(bootEnabled) == boot[bootEnabled] || !shown.shows(bootEnabled)):
		delete(boot, bootEnabled)
		if !shown.shows(bootEnabled) {
			c.findings.bootDropped = append(c.findings.bootDropped, bootEnabled)
		}
	default:
		return false
	}
	return true
}

// bootKept reads back what was written: a BMC may take an override and not
// keep it. Only the fields that were sent are compared.
func (c *client) bootKept(path string, sent map[string]any) (fields, error) {
	var shown fields
	err := c.poll(c.transport.pace.settle, func() (bool, error) {
		doc, err := c.get(path)
		if err != nil {
			return false, err
		}
		shown = doc.child("Boot")
		return len(bootDifferences(sent, shown)) == 0, nil
	})
	if errors.Is(err, errPending) {
		return nil, driver.Errorf(metal.CodeBMCError, "BMC %s accepted but did not keep the boot override of %s: %s", c.access.address, path, strings.Join(bootDifferences(sent, shown), ", "))
	}
	return shown, err
}

func bootDifferences(sent map[string]any, shown fields) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		want, got := fmt.Sprint(sent[name]), shown.text(name)
		// Continuous in place of Once boots the device asked for, too.
		once := name == bootEnabled && want == string(redfish.OnceBootSourceOverrideEnabled) && got == string(redfish.ContinuousBootSourceOverrideEnabled)
		if got != "" && !strings.EqualFold(got, want) && !once {
			out = append(out, fmt.Sprintf("%s is %s, not %s", name, got, want))
		}
	}
	return out
}

// bootModes are Ironic's names and Redfish's.
var bootModes = map[string]string{"uefi": "UEFI", "bios": "Legacy"}

// GetBootMode reads bios or uefi, "" where the BMC does not tell.
func (d *Driver) GetBootMode(ctx context.Context, t driver.Target) (metal.BootModeArgs, error) {
	return call(ctx, d, t, func(c *client) (metal.BootModeArgs, error) {
		system, err := c.system()
		if err != nil {
			return metal.BootModeArgs{}, err
		}
		return metal.BootModeArgs{Mode: bootModeOf(system)}, nil
	})
}

func bootModeOf(system document) string {
	shown := system.child("Boot").text(bootMode)
	for name, mode := range bootModes {
		if strings.EqualFold(shown, mode) {
			return name
		}
	}
	return ""
}

// SetBootMode sets the mode of the next boots. Many BMCs show it only after a
// reboot, so it is not read back.
func (d *Driver) SetBootMode(ctx context.Context, t driver.Target, a metal.BootModeArgs) (metal.BootModeArgs, error) {
	mode, ok := bootModes[a.Mode]
	if !ok {
		return metal.BootModeArgs{}, driver.Errorf(metal.CodeInvalidArgs, "boot mode %q is none of bios, uefi", a.Mode)
	}
	return call(ctx, d, t, func(c *client) (metal.BootModeArgs, error) {
		system, err := c.system()
		if err != nil {
			return metal.BootModeArgs{}, err
		}
		if bootModeOf(system) == a.Mode {
			return a, nil
		}
		if !system.child("Boot").shows(bootMode) {
			return metal.BootModeArgs{}, driver.Errorf(metal.CodeUnsupported, "BMC %s: %s shows no %s, so its boot mode cannot be set", c.access.address, system.path, bootMode)
		}
		_, err = c.patchBoot(system, map[string]any{bootMode: mode})
		return a, err
	})
}
