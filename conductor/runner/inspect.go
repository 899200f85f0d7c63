package runner

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"ferrule/metal"
)

var inspectActions = map[string]action{
	"await-inspection": {start: awaitInspection, signal: inspectionCame},
	"inspect-bmc":      {start: startInspectBMC, result: bmcInspected},
}

func (r *run) inspectTasks() ([]task, error) {
	switch r.node.InspectInterface {
	case "fake":
		return []task{finishWith(metal.EventDone)}, nil
	case "redfish":
		return append(append([]task{{Do: "inspect-bmc"}}, r.cacheTasks()...), finishWith(metal.EventDone)), nil
	case "agent":
		tasks := []task{task{Do: "macs"}.tried()}
		params := append([]string{"ipa-inspection-callback-url={relay}/v1/continue_inspection"}, r.Settings.InspectParams...)
		tasks = append(tasks, r.bootRamdisk(params...)...)
		tasks = append(tasks, fire(metal.EventWait), task{Do: "await-inspection"})
		if r.Settings.InspectPowerOff {
			tasks = append(tasks, setPower(metal.PowerOff))
		}
		tasks = append(append(tasks, r.ejectTasks()...), r.cacheTasks()...)
		return append(tasks, finishWith(metal.EventDone)), nil
	}
	return nil, metal.Unsupported(r.node, "inspect")
}

func awaitInspection(r *run, _ task) (verdict, error) {
	r.wait(r.callbackTimeout())
	return stay, nil
}

// inspectionCame takes what the ramdisk found. Ironic's default hooks, in
// their order: ramdisk-error, validate-interfaces, ports, architecture.
func inspectionCame(r *run, _ task, e metal.InboxEntry) (verdict, error) {
	if e.Kind != metal.InboxInspection {
		return stay, nil
	}
	if err := metal.Fire(r.node, metal.EventResume, r.keepTarget(), r.Now); err != nil {
		return stay, err
	}
	var p metal.InspectionPayload
	if err := e.Payload.Decode(&p); err != nil {
		return stay, fmt.Errorf("read the inspection data: %w", err)
	}
	if text := p.PluginData.Lookup("error"); text != nil && text != "" {
		return stay, fmt.Errorf("the ramdisk reported an error: %v", text)
	}
	return done, r.inspected(p.Inventory, p.PluginData)
}

// inspected stores an inventory and brings ports and properties in line.
func (r *run) inspected(inventory, plugin metal.JSON) error {
	var inv metal.Inventory
	if err := inventory.Decode(&inv); err != nil {
		return fmt.Errorf("the inventory has values of the wrong type: %w", err)
	}
	valid := r.validInterfaces(inv)
	if len(valid) == 0 {
		return errors.New("no valid network interfaces were found in the inventory")
	}
	var macs []string
	kept := map[string]any{}
	for _, i := range valid {
		mac := strings.ToLower(i.MACAddress)
		macs = append(macs, mac)
		pxe := isPXE(inv, mac)
		kept[i.Name] = map[string]any{"name": i.Name, "mac_address": mac, "pxe_enabled": pxe}
		if r.Settings.AddPorts != "disabled" {
			r.addPort(mac, pxe || inv.Boot.PXEInterface == nil)
		}
	}
	r.prunePorts(inv, macs)
	if arch := inv.CPU.Architecture; arch != "" {
		r.node.Properties = r.node.Properties.With("cpu_arch", arch)
	}
	plugin = plugin.Without("logs").With("macs", macs).With("valid_interfaces", kept)
	r.out.Inventory = &metal.InventoryRecord{NodeUUID: r.node.UUID, Inventory: inventory, PluginData: plugin, CreatedAt: r.Now}
	return nil
}

// validInterfaces are the NICs that get ports: with a MAC, not the loopback,
// and as [inspector]add_ports says.
func (r *run) validInterfaces(inv metal.Inventory) []metal.InventoryInterface {
	var valid []metal.InventoryInterface
	for _, i := range inv.Interfaces {
		mac, err := net.ParseMAC(i.MACAddress)
		if err != nil || len(mac) != 6 || i.Name == "lo" {
			continue
		}
		if i.IPv4Address != nil && net.ParseIP(*i.IPv4Address).IsLoopback() && r.Settings.AddPorts == "active" {
			continue
		}
		if r.Settings.AddPorts == "pxe" && inv.Boot.PXEInterface != nil && !isPXE(inv, i.MACAddress) {
			continue
		}
		if r.Settings.AddPorts == "active" && i.IPv4Address == nil && i.IPv6Address == nil {
			continue
		}
		valid = append(valid, i)
	}
	return valid
}

// isPXE reports whether the ramdisk was booted over mac; BOOTIF writes it with
// hyphens and a hardware type in front.
func isPXE(inv metal.Inventory, mac string) bool {
	if inv.Boot.PXEInterface == nil {
		return false
	}
	p := strings.ReplaceAll(strings.ToLower(*inv.Boot.PXEInterface), "-", ":")
	return p == strings.ToLower(mac) || strings.TrimPrefix(p, "01:") == strings.ToLower(mac)
}

// addPort makes a port of a MAC that the node has none for.
func (r *run) addPort(mac string, pxe bool) {
	mac = strings.ToLower(mac)
	for _, p := range append(r.Ports, r.out.CreatePorts...) {
		if p.Address == mac {
			return
		}
	}
	r.out.CreatePorts = append(r.out.CreatePorts, metal.Port{
		UUID: r.NewID(), NodeUUID: r.node.UUID, Address: mac, PXEEnabled: pxe, CreatedAt: r.Now,
		Extra: metal.EmptyObject, InternalInfo: metal.EmptyObject, LocalLinkConnection: metal.EmptyObject,
		AvailableForDynamicPortgroup: true,
	})
}

// prunePorts follows [inspector]keep_ports.
func (r *run) prunePorts(inv metal.Inventory, added []string) {
	keep := added
	switch r.Settings.KeepPorts {
	case "added":
	case "present":
		keep = nil
		for _, i := range inv.Interfaces {
			keep = append(keep, strings.ToLower(i.MACAddress))
		}
	default:
		return
	}
	for _, p := range r.Ports {
		found := false
		for _, mac := range keep {
			found = found || mac == p.Address
		}
		if !found {
			r.out.DeletePorts = append(r.out.DeletePorts, p.UUID)
		}
	}
}

func startInspectBMC(r *run, _ task) (verdict, error) { return r.bmc(metal.InspectHardware, nil, 0) }

// bmcInspected takes an out-of-band inspection. Ironic wants cpu_arch,
// memory_mb and local_gb afterwards.
func bmcInspected(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var found metal.InspectResult
	if err := metal.JSON(res.ResultJSON).Decode(&found); err != nil {
		return stay, fmt.Errorf("read the inspection's result: %w", err)
	}
	var missing []string
	for _, key := range []string{"memory_mb", "local_gb", "cpu_arch"} {
		v := found.Properties[key]
		if v == "" && r.node.Properties.Lookup(key) == nil {
			missing = append(missing, key)
		}
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			r.node.Properties = r.node.Properties.With(key, n)
		} else if v != "" {
			r.node.Properties = r.node.Properties.With(key, v)
		}
	}
	if len(missing) > 0 {
		return stay, fmt.Errorf("the BMC does not tell the following of the machine: %s", strings.Join(missing, ", "))
	}
	if found.BootMode != "" {
		r.node.BootMode = &found.BootMode
	}
	return done, r.inspected(metal.ToJSON(found.Inventory), metal.EmptyObject)
}
