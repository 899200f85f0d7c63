package redfish

import (
	"context"
	"net"
	"strconv"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// MACs lists the addresses of the System's network interfaces, those left out
// that the BMC says are disabled or that are no MAC.
func (d *Driver) MACs(ctx context.Context, t driver.Target) (metal.MACsResult, error) {
	return call(ctx, d, t, func(c *client) (metal.MACsResult, error) {
		system, err := c.system()
		if err != nil {
			return metal.MACsResult{}, err
		}
		nics, err := c.linked(system, "EthernetInterfaces")
		if err != nil {
			return metal.MACsResult{}, err
		}
		result := metal.MACsResult{MACs: []string{}}
		for _, nic := range nics {
			if state := nic.child("Status").text("State"); state != "" && state != "Enabled" {
				continue
			}
			if mac := c.macOf(nic); mac != "" {
				result.MACs = append(result.MACs, mac)
			}
		}
		return result, nil
	})
}

// macOf is the interface's MAC in lower case with colons, or "" where what it
// shows is none: empty, a WWN, a GUID.
func (c *client) macOf(nic document) string {
	for _, name := range []string{"MACAddress", "PermanentMACAddress"} {
		shown := nic.text(name)
		hw, err := net.ParseMAC(shown)
		if err == nil && len(hw) == 6 && strings.Trim(hw.String(), "0:") != "" {
			return hw.String()
		}
		if shown != "" {
			c.log.Info("a network interface without a usable MAC is left out", "path", nic.path, "property", name, "value", shown)
		}
	}
	return ""
}

// Inspect reads what the BMC knows of the machine. Each part may be missing.
func (d *Driver) Inspect(ctx context.Context, t driver.Target) (metal.InspectResult, error) {
	return call(ctx, d, t, func(c *client) (metal.InspectResult, error) {
		system, err := c.system()
		if err != nil {
			return metal.InspectResult{}, err
		}
		result := metal.InspectResult{Properties: map[string]string{}, BootMode: bootModeOf(system)}
		inv := &result.Inventory
		inv.SystemVendor = metal.InventoryVendor{
			ProductName: system.text("Model"), SerialNumber: system.text("SerialNumber"), Manufacturer: system.text("Manufacturer"),
		}
		inv.Boot.CurrentBootMode = result.BootMode
		if gib, ok := system.child("MemorySummary").number("TotalSystemMemoryGiB"); ok && gib > 0 && gib < 1<<30 {
			inv.Memory.PhysicalMB = int64(gib * 1024)
			result.Properties["memory_mb"] = strconv.FormatInt(inv.Memory.PhysicalMB, 10)
		}
		if maker := inv.SystemVendor.Manufacturer; maker != "" {
			result.Properties["vendor"] = maker
		}
		for _, part := range []func(document, *metal.InspectResult) error{c.inspectCPU, c.inspectNICs, c.inspectDisks} {
			if err := part(system, &result); err != nil {
				return metal.InspectResult{}, err
			}
		}
		return result, nil
	})
}

// architectures are Redfish's instruction sets in Ironic's words.
var architectures = map[string]string{
	"x86": "i686", "x86-64": "x86_64", "IA-64": "ia64", "ARM-A32": "arm", "ARM-A64": "aarch64",
	"MIPS32": "mips", "MIPS64": "mips64", "PowerISA": "ppc64le", "RV64": "riscv64",
}

func (c *client) inspectCPU(system document, result *metal.InspectResult) error {
	cpu := &result.Inventory.CPU
	cpu.Flags = []string{}
	if n, ok := system.child("ProcessorSummary").integer("Count"); ok {
		cpu.SocketCount = int(n)
	}
	processors, err := c.optional(c.linked(system, "Processors"))
	if err != nil {
		return err
	}
	for _, p := range processors {
		if kind := p.text("ProcessorType"); kind != "" && kind != "CPU" || p.child("Status").text("State") == "Absent" {
			continue
		}
		if n, ok := p.integer("TotalThreads"); ok && n > 0 && n < 1<<20 {
			cpu.Count += int(n)
		} else if n, ok := p.integer("TotalCores"); ok && n > 0 && n < 1<<20 {
			cpu.Count += int(n)
		}
		if cpu.ModelName == "" {
			cpu.ModelName = p.text("Model")
		}
		if mhz, ok := p.number("MaxSpeedMHz"); ok && cpu.Frequency == nil {
			cpu.Frequency = mhz
		}
		if cpu.Architecture == "" {
			cpu.Architecture = architectures[p.text("InstructionSet")]
		}
	}
	if cpu.Count == 0 {
		n, _ := system.child("ProcessorSummary").integer("LogicalProcessorCount")
		cpu.Count = int(n)
	}
	if cpu.Architecture != "" {
		result.Properties["cpu_arch"] = cpu.Architecture
	}
	return nil
}

func (c *client) inspectNICs(system document, result *metal.InspectResult) error {
	result.Inventory.Interfaces = []metal.InventoryInterface{}
	nics, err := c.optional(c.linked(system, "EthernetInterfaces"))
	if err != nil {
		return err
	}
	for _, nic := range nics {
		mac := c.macOf(nic)
		if mac == "" {
			continue
		}
		i := metal.InventoryInterface{Name: nic.text("Id"), MACAddress: mac, HasCarrier: nic.text("LinkStatus") == "LinkUp"}
		if mbps, ok := nic.integer("SpeedMbps"); ok && mbps > 0 && mbps < 1<<31 {
			speed := int(mbps)
			i.SpeedMbps = &speed
		}
		result.Inventory.Interfaces = append(result.Inventory.Interfaces, i)
	}
	return nil
}

// Sizes of disks that Ironic's local_gb is made of.
const (
	gib         = 1 << 30
	minRootDisk = 4 * gib
)

func (c *client) inspectDisks(system document, result *metal.InspectResult) error {
	disks, err := c.disks(system)
	if err != nil {
		return err
	}
	result.Inventory.Disks = disks
	var smallest int64
	for _, d := range disks {
		if d.Size >= minRootDisk && (smallest == 0 || d.Size < smallest) {
			smallest = d.Size
		}
	}
	// One less than there is, for partitions and their alignment (Ironic: redfish inspect).
	if smallest > 0 {
		result.Properties["local_gb"] = strconv.FormatInt(smallest/gib-1, 10)
	}
	return nil
}

func (c *client) disks(system document) ([]metal.InventoryDisk, error) {
	out := []metal.InventoryDisk{}
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
			out = append(out, diskOf(drive.fields, drive.text("Name")))
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	simple, err := c.optional(c.linked(system, "SimpleStorage"))
	if err != nil {
		return nil, err
	}
	for _, storage := range simple {
		for _, device := range storage.children("Devices") {
			if _, ok := device.integer("CapacityBytes"); ok {
				out = append(out, diskOf(device, device.text("Name")))
			}
		}
	}
	return out, nil
}

func diskOf(f fields, name string) metal.InventoryDisk {
	size, _ := f.integer("CapacityBytes")
	disk := metal.InventoryDisk{Name: name, Model: f.text("Model"), Size: max(size, 0), Rotational: f.text("MediaType") == "HDD"}
	if serial := f.text("SerialNumber"); serial != "" {
		disk.Serial = &serial
	}
	if vendor := f.text("Manufacturer"); vendor != "" {
		disk.Vendor = &vendor
	}
	for _, id := range f.children("Identifiers") {
		if wwn := id.text("DurableName"); wwn != "" && id.text("DurableNameFormat") == "NAA" {
			disk.WWN = &wwn
		}
	}
	return disk
}

// optional makes a part of the machine that the BMC does not show an empty one.
func (c *client) optional(docs []document, err error) ([]document, error) {
	if partOnly(err) {
		c.log.Debug("a part of the machine cannot be read", "error", err)
		return nil, nil
	}
	return docs, err
}
