package ramdisk

import "strings"

// Hardware is what the ramdisk finds in its machine.
type Hardware struct {
	Hostname     string
	Manufacturer string
	Product      string
	Serial       string
	CPUModel     string
	CPUMHz       int
	CPUs         int
	Architecture string
	MemoryMiB    int64
	NICs         []NIC
	DiskName     string
	DiskModel    string
	DiskBytes    int64
	BMCAddress   string
	UEFI         bool
	Address      string // of the ramdisk itself
}

// NIC is one network interface.
type NIC struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
}

type inventory struct {
	Interfaces   []inventoryInterface `json:"interfaces"`
	CPU          inventoryCPU         `json:"cpu"`
	Memory       inventoryMemory      `json:"memory"`
	Disks        []inventoryDisk      `json:"disks"`
	BMCAddress   string               `json:"bmc_address"`
	BMCV6Address *string              `json:"bmc_v6address"`
	SystemVendor inventoryVendor      `json:"system_vendor"`
	Boot         inventoryBoot        `json:"boot"`
	Hostname     string               `json:"hostname"`
}

type inventoryInterface struct {
	Name        string  `json:"name"`
	MAC         string  `json:"mac_address"`
	IPv4        *string `json:"ipv4_address"`
	IPv6        *string `json:"ipv6_address"`
	HasCarrier  bool    `json:"has_carrier"`
	LLDP        []any   `json:"lldp"`
	Vendor      string  `json:"vendor"`
	Product     string  `json:"product"`
	ClientID    *string `json:"client_id"`
	BiosDevName *string `json:"biosdevname"`
	SpeedMbps   int     `json:"speed_mbps"`
	PCIAddress  string  `json:"pci_address"`
	Driver      string  `json:"driver"`
}

type inventoryCPU struct {
	ModelName    string   `json:"model_name"`
	Frequency    float64  `json:"frequency"`
	Count        int      `json:"count"`
	Architecture string   `json:"architecture"`
	Flags        []string `json:"flags"`
	SocketCount  int      `json:"socket_count"`
}

type inventoryMemory struct {
	Total      int64 `json:"total"`
	PhysicalMB int64 `json:"physical_mb"`
}

type inventoryDisk struct {
	Name               string  `json:"name"`
	Model              string  `json:"model"`
	Size               int64   `json:"size"`
	Rotational         bool    `json:"rotational"`
	WWN                *string `json:"wwn"`
	Serial             string  `json:"serial"`
	Vendor             string  `json:"vendor"`
	WWNWithExtension   *string `json:"wwn_with_extension"`
	WWNVendorExtension *string `json:"wwn_vendor_extension"`
	HCTL               string  `json:"hctl"`
	ByPath             string  `json:"by_path"`
	LogicalSectors     int     `json:"logical_sectors"`
	PhysicalSectors    int     `json:"physical_sectors"`
	Tran               string  `json:"tran"`
}

type inventoryVendor struct {
	ProductName  string            `json:"product_name"`
	SerialNumber string            `json:"serial_number"`
	Manufacturer string            `json:"manufacturer"`
	Firmware     inventoryFirmware `json:"firmware"`
}

type inventoryFirmware struct {
	Vendor    string `json:"vendor"`
	Version   string `json:"version"`
	BuildDate string `json:"build_date"`
}

type inventoryBoot struct {
	CurrentBootMode string  `json:"current_boot_mode"`
	PXEInterface    *string `json:"pxe_interface"`
}

// inventory is what the ramdisk reports; bootIf is the MAC from the kernel
// line, "" for none.
func (h Hardware) inventory(bootIf string) inventory {
	inv := inventory{
		CPU: inventoryCPU{
			ModelName: h.CPUModel, Frequency: float64(h.CPUMHz), Count: h.CPUs,
			Architecture: h.Architecture, Flags: []string{"fpu", "sse2", "vmx"}, SocketCount: 1,
		},
		// The kernel sees a little less than what is installed.
		Memory:     inventoryMemory{Total: h.MemoryMiB*1024*1024 - 64<<20, PhysicalMB: h.MemoryMiB},
		BMCAddress: h.BMCAddress,
		SystemVendor: inventoryVendor{
			ProductName: h.Product, SerialNumber: h.Serial, Manufacturer: h.Manufacturer,
			Firmware: inventoryFirmware{Vendor: h.Manufacturer, Version: "1.0", BuildDate: "2026-01-01"},
		},
		Boot:     inventoryBoot{CurrentBootMode: "bios"},
		Hostname: h.Hostname,
	}
	if h.UEFI {
		inv.Boot.CurrentBootMode = "uefi"
	}
	if bootIf != "" {
		inv.Boot.PXEInterface = &bootIf
	}
	for i, n := range h.NICs {
		nic := inventoryInterface{
			Name: n.Name, MAC: strings.ToLower(n.MAC), HasCarrier: true, LLDP: []any{},
			Vendor: "0x8086", Product: "0x1572", SpeedMbps: 25000, PCIAddress: "0000:3b:00." + string(rune('0'+i%8)), Driver: "i40e",
		}
		if i == 0 {
			nic.IPv4 = &h.Address
		}
		inv.Interfaces = append(inv.Interfaces, nic)
	}
	inv.Disks = []inventoryDisk{h.disk()}
	return inv
}

func (h Hardware) disk() inventoryDisk {
	return inventoryDisk{
		Name: h.DiskName, Model: h.DiskModel, Size: h.DiskBytes, Serial: h.Serial + "-D0", Vendor: h.Manufacturer,
		HCTL: "0:0:0:0", ByPath: "/dev/disk/by-path/pci-0000:00:1f.2-ata-1", LogicalSectors: 512, PhysicalSectors: 512, Tran: "sata",
	}
}

// macs is every MAC, lower-case, in the machine's order.
func (h Hardware) macs() []string {
	var macs []string
	for _, n := range h.NICs {
		macs = append(macs, strings.ToLower(n.MAC))
	}
	return macs
}
