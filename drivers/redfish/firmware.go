package redfish

import (
	"context"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// FirmwareComponents reads the versions of the BIOS, the BMC and the network
// adapters (Ironic: RedfishFirmware.cache_firmware_components), the first two
// from the firmware inventory where System and Manager do not tell.
func (d *Driver) FirmwareComponents(ctx context.Context, t driver.Target) (metal.FirmwareComponentsResult, error) {
	return call(ctx, d, t, func(c *client) (metal.FirmwareComponentsResult, error) {
		system, err := c.system()
		if err != nil {
			return metal.FirmwareComponentsResult{}, err
		}
		found := []metal.FirmwareComponentInfo{}
		if v := system.text("BiosVersion"); v != "" {
			found = append(found, metal.FirmwareComponentInfo{Component: "bios", CurrentVersion: v})
		}
		managers, err := c.readAll(c.managers(system))
		if err != nil {
			return metal.FirmwareComponentsResult{}, err
		}
		for _, m := range managers {
			if v := m.text("FirmwareVersion"); v != "" {
				found = append(found, metal.FirmwareComponentInfo{Component: "bmc", CurrentVersion: v, Model: m.text("Model")})
				break
			}
		}
		adapters, err := c.adapterFirmware(system)
		if err != nil {
			return metal.FirmwareComponentsResult{}, err
		}
		if found, err = c.fromInventory(append(found, adapters...)); err != nil {
			return metal.FirmwareComponentsResult{}, err
		}
		if len(found) == 0 {
			return metal.FirmwareComponentsResult{}, driver.Errorf(metal.CodeUnsupported, "BMC %s tells no firmware version", c.access.address)
		}
		return metal.FirmwareComponentsResult{Components: found}, nil
	})
}

func (c *client) adapterFirmware(system document) ([]metal.FirmwareComponentInfo, error) {
	var found []metal.FirmwareComponentInfo
	chassis, err := c.readAll(system.child("Links").links("Chassis"))
	if err != nil {
		return nil, err
	}
	for _, ch := range chassis {
		adapters, err := c.optional(c.linked(ch, "NetworkAdapters"))
		if err != nil {
			return nil, err
		}
		for _, a := range adapters {
			id, serial := a.text("Id"), a.text("SerialNumber")
			if serial != "" {
				id = serial
			}
			for _, controller := range a.children("Controllers") {
				if v := controller.text("FirmwarePackageVersion"); v != "" && id != "" {
					found = append(found, metal.FirmwareComponentInfo{
						Component: "nic:" + id, CurrentVersion: v, Vendor: a.text("Manufacturer"), Model: a.text("Model"), SerialNumber: serial,
					})
					break
				}
			}
		}
	}
	return found, nil
}

// inventoryNames are the words by which an inventory entry is known.
var inventoryNames = map[string][]string{"bios": {"bios", "system rom", "uefi"}, "bmc": {"bmc", "idrac", "ilo", "xcc", "management controller"}}

func (c *client) fromInventory(found []metal.FirmwareComponentInfo) ([]metal.FirmwareComponentInfo, error) {
	missing := map[string][]string{"bios": inventoryNames["bios"], "bmc": inventoryNames["bmc"]}
	for _, f := range found {
		delete(missing, f.Component)
	}
	if len(missing) == 0 {
		return found, nil
	}
	entries, err := c.optional(c.members(root + "/UpdateService/FirmwareInventory"))
	if err != nil {
		return nil, err
	}
	for _, component := range []string{"bios", "bmc"} {
		words := missing[component]
		for _, e := range entries {
			name, version := strings.ToLower(e.text("Name")), e.text("Version")
			if version == "" || !containsAny(name, words) {
				continue
			}
			found = append(found, metal.FirmwareComponentInfo{Component: component, CurrentVersion: version})
			break
		}
	}
	return found, nil
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
