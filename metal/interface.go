package metal

// InterfaceType is one of the thirteen interfaces of a node's driver.
type InterfaceType string

// The interface types.
const (
	BIOSInterface       InterfaceType = "bios"
	BootInterface       InterfaceType = "boot"
	ConsoleInterface    InterfaceType = "console"
	DeployInterface     InterfaceType = "deploy"
	FirmwareInterface   InterfaceType = "firmware"
	InspectInterface    InterfaceType = "inspect"
	ManagementInterface InterfaceType = "management"
	NetworkInterface    InterfaceType = "network"
	PowerInterface      InterfaceType = "power"
	RAIDInterface       InterfaceType = "raid"
	RescueInterface     InterfaceType = "rescue"
	StorageInterface    InterfaceType = "storage"
	VendorInterface     InterfaceType = "vendor"
)

// InterfaceTypes lists the types in alphabetical order.
func InterfaceTypes() []InterfaceType { return interfaceTypes }

var interfaceTypes = []InterfaceType{
	BIOSInterface, BootInterface, ConsoleInterface, DeployInterface, FirmwareInterface, InspectInterface,
	ManagementInterface, NetworkInterface, PowerInterface, RAIDInterface, RescueInterface, StorageInterface,
	VendorInterface,
}
