package metal

// Inventory is what the ramdisk (or an out-of-band read) reports of a machine
// (ipa-protocol, section 7). Unknown members are kept by whoever stores the
// raw JSON; this type names what Ferrule itself reads.
type Inventory struct {
	Interfaces   []InventoryInterface `json:"interfaces"`
	CPU          InventoryCPU         `json:"cpu"`
	Memory       InventoryMemory      `json:"memory"`
	Disks        []InventoryDisk      `json:"disks"`
	BMCAddress   *string              `json:"bmc_address"`
	BMCV6Address *string              `json:"bmc_v6address"`
	SystemVendor InventoryVendor      `json:"system_vendor"`
	Boot         InventoryBoot        `json:"boot"`
	Hostname     string               `json:"hostname,omitempty"`
}

// InventoryInterface is one NIC.
type InventoryInterface struct {
	Name        string  `json:"name"`
	MACAddress  string  `json:"mac_address"`
	IPv4Address *string `json:"ipv4_address"`
	IPv6Address *string `json:"ipv6_address"`
	HasCarrier  bool    `json:"has_carrier"`
	Vendor      *string `json:"vendor"`
	Product     *string `json:"product"`
	ClientID    *string `json:"client_id"`
	SpeedMbps   *int    `json:"speed_mbps"`
}

// InventoryCPU is the processors taken together.
type InventoryCPU struct {
	ModelName    string   `json:"model_name"`
	Frequency    any      `json:"frequency"` // number, string or null, as seen in the field
	Count        int      `json:"count"`
	Architecture string   `json:"architecture"`
	Flags        []string `json:"flags"`
	SocketCount  int      `json:"socket_count,omitempty"`
}

// InventoryMemory gives bytes seen by the kernel and MiB installed.
type InventoryMemory struct {
	Total      int64 `json:"total"`
	PhysicalMB int64 `json:"physical_mb"`
}

// InventoryDisk is one block device; Size is in bytes.
type InventoryDisk struct {
	Name       string  `json:"name"`
	Model      string  `json:"model"`
	Size       int64   `json:"size"`
	Rotational bool    `json:"rotational"`
	WWN        *string `json:"wwn"`
	Serial     *string `json:"serial"`
	Vendor     *string `json:"vendor"`
	ByPath     *string `json:"by_path"`
}

// InventoryVendor is the machine's maker and product.
type InventoryVendor struct {
	ProductName  string `json:"product_name"`
	SerialNumber string `json:"serial_number"`
	Manufacturer string `json:"manufacturer"`
}

// InventoryBoot tells how the ramdisk was booted.
type InventoryBoot struct {
	CurrentBootMode string  `json:"current_boot_mode"`
	PXEInterface    *string `json:"pxe_interface"`
}
