package metal

import (
	"fmt"
	"slices"
	"strings"
)

// Host says who carries out the operations of a hardware type.
type Host string

// The hosts.
const (
	HostedHere    Host = "conductor" // the conductor process itself: nothing to dial
	HostedAtAgent Host = "agent"     // a site agent
)

// HardwareType is a row of the catalogue: which implementations of each
// interface a driver takes, in order of preference for the default
// (Ironic: drivers/generic, drivers/redfish, drivers/fake_hardware).
type HardwareType struct {
	Name      string
	Host      Host
	Driver    string // folder under drivers/ that carries out BMC operations
	Supported map[InterfaceType][]string
	// TakesAny: an implementation outside Supported is accepted when it is
	// named and enabled; Supported then only decides the default.
	TakesAny bool
}

// HardwareTypes is the catalogue of what is built in.
func HardwareTypes() []HardwareType { return hardwareTypes }

var hardwareTypes = []HardwareType{
	{
		Name: "fake-hardware", Host: HostedHere, Driver: "fake", TakesAny: true,
		Supported: supported(map[InterfaceType][]string{
			BIOSInterface:       {"fake", "no-bios"},
			BootInterface:       {"fake"},
			ConsoleInterface:    {"fake", "no-console"},
			DeployInterface:     {"fake", "autodetect", "direct"},
			FirmwareInterface:   {"fake", "no-firmware"},
			InspectInterface:    {"fake", "agent", "no-inspect"},
			ManagementInterface: {"fake"},
			PowerInterface:      {"fake"},
			RAIDInterface:       {"fake", "no-raid", "agent"},
			RescueInterface:     {"fake", "no-rescue", "agent"},
			StorageInterface:    {"fake", "noop"},
			VendorInterface:     {"fake", "no-vendor"},
		}),
	},
	{
		Name: "manual-management", Host: HostedHere, Driver: "manual",
		Supported: supported(map[InterfaceType][]string{
			BootInterface:       {"fake"}, // Ironic's are all network boot, which is not built in
			DeployInterface:     {"autodetect", "direct", "noop"},
			ManagementInterface: {"noop", "fake"},
			PowerInterface:      {"fake"},
		}),
	},
	{
		Name: "redfish", Host: HostedAtAgent, Driver: "redfish",
		Supported: supported(map[InterfaceType][]string{
			BootInterface:       {"redfish-virtual-media"},
			FirmwareInterface:   {"no-firmware", "redfish"},
			InspectInterface:    {"redfish", "agent", "no-inspect"},
			ManagementInterface: {"redfish", "noop"},
			PowerInterface:      {"redfish"},
			VendorInterface:     {"redfish", "no-vendor"},
		}),
	},
}

// supported fills in what every hardware type inherits.
func supported(own map[InterfaceType][]string) map[InterfaceType][]string {
	all := map[InterfaceType][]string{
		BIOSInterface:     {"no-bios"},
		BootInterface:     {},
		ConsoleInterface:  {"no-console"},
		DeployInterface:   {"autodetect", "direct"},
		FirmwareInterface: {"no-firmware"},
		InspectInterface:  {"agent", "no-inspect"},
		NetworkInterface:  {"noop"},
		RAIDInterface:     {"no-raid", "agent"},
		RescueInterface:   {"no-rescue", "agent"},
		StorageInterface:  {"noop"},
		VendorInterface:   {"no-vendor"},
	}
	for t, names := range own {
		all[t] = names
	}
	return all
}

// Enabled is what the configuration switches on. A nil list means everything
// that is built in.
type Enabled struct {
	HardwareTypes []string
	Interfaces    map[InterfaceType][]string
	Defaults      map[InterfaceType]string
}

// Catalogue is the built-in catalogue as one configuration switches it on.
type Catalogue struct {
	types      []HardwareType
	interfaces map[InterfaceType][]string // nil: all
	defaults   map[InterfaceType]string
	settings   ValidationSettings
	skipped    []string
}

// ValidationSettings are the options that validation of interfaces looks at.
type ValidationSettings struct {
	DeployKernel       string // [conductor]deploy_kernel and so on: what a node without its own gets
	DeployRamdisk      string
	RescueKernel       string
	RescueRamdisk      string
	Bootloader         string
	RequireManagedBoot bool // [inspector]require_managed_boot
}

// NewCatalogue applies a configuration. A name that is not built in does not
// stop the start: it is left out and listed by Skipped.
func NewCatalogue(on Enabled, settings ValidationSettings) (*Catalogue, error) {
	c := &Catalogue{defaults: on.Defaults, settings: settings, interfaces: map[InterfaceType][]string{}}
	built := map[InterfaceType]map[string]bool{}
	for _, h := range hardwareTypes {
		if on.HardwareTypes == nil || slices.Contains(on.HardwareTypes, h.Name) {
			c.types = append(c.types, h)
		}
		for t, names := range h.Supported {
			for _, n := range names {
				if built[t] == nil {
					built[t] = map[string]bool{}
				}
				built[t][n] = true
			}
		}
	}
	for _, name := range on.HardwareTypes {
		if _, ok := c.HardwareType(name); !ok {
			c.skipped = append(c.skipped, "hardware type "+name)
		}
	}
	for t, names := range on.Interfaces {
		if names == nil {
			continue
		}
		c.interfaces[t] = []string{}
		for _, n := range names {
			if built[t][n] {
				c.interfaces[t] = append(c.interfaces[t], n)
			} else {
				c.skipped = append(c.skipped, fmt.Sprintf("%s interface %s", t, n))
			}
		}
	}
	if len(c.types) == 0 {
		return nil, Errorf(Invalid, "None of the hardware types in enabled_hardware_types is built in; known are %s.", builtNames())
	}
	return c, nil
}

func builtNames() string {
	s := ""
	for i, h := range hardwareTypes {
		if i > 0 {
			s += ", "
		}
		s += h.Name
	}
	return s
}

// Skipped lists what the configuration names and is not built in.
func (c *Catalogue) Skipped() []string { return c.skipped }

// HardwareTypes are the enabled hardware types.
func (c *Catalogue) HardwareTypes() []HardwareType { return c.types }

// HardwareType finds an enabled hardware type.
func (c *Catalogue) HardwareType(name string) (HardwareType, bool) {
	for _, h := range c.types {
		if h.Name == name {
			return h, true
		}
	}
	return HardwareType{}, false
}

// enabled reports whether an implementation is switched on.
func (c *Catalogue) enabled(t InterfaceType, name string) bool {
	list, limited := c.interfaces[t]
	if limited && list != nil {
		return slices.Contains(list, name)
	}
	for _, h := range hardwareTypes {
		if slices.Contains(h.Supported[t], name) {
			return true
		}
	}
	return false
}

// EnabledInterfaces are the implementations of t that hw supports and the
// configuration enables, in order of preference.
func (c *Catalogue) EnabledInterfaces(hw string, t InterfaceType) []string {
	h, ok := c.HardwareType(hw)
	if !ok {
		return nil
	}
	var names []string
	for _, n := range h.Supported[t] {
		if c.enabled(t, n) {
			names = append(names, n)
		}
	}
	return names
}

// DefaultInterface is what a node of hw gets where it names none
// (Ironic: driver_factory.default_interface).
func (c *Catalogue) DefaultInterface(hw string, t InterfaceType) (string, error) {
	names := c.EnabledInterfaces(hw, t)
	if d := c.defaults[t]; d != "" {
		if slices.Contains(names, d) || c.takesAny(hw) && c.enabled(t, d) {
			return d, nil
		}
		return "", Errorf(Invalid, "No valid default for the %s interface of hardware type %s: default_%s_interface is %q, enabled are %v.",
			t, hw, t, d, names)
	}
	if len(names) == 0 {
		return "", Errorf(Invalid, "No valid default for the %s interface of hardware type %s: enable one that it supports in enabled_%s_interfaces.",
			t, hw, t)
	}
	return names[0], nil
}

func (c *Catalogue) takesAny(hw string) bool {
	h, _ := c.HardwareType(hw)
	return h.TakesAny
}

// CheckInterface refuses an implementation that is not enabled or that the
// hardware type does not support.
func (c *Catalogue) CheckInterface(hw string, t InterfaceType, name string) error {
	if !c.enabled(t, name) {
		return Errorf(Invalid, "Could not find the following interface in the 'ironic.hardware.interfaces.%s' entrypoint: %s. Valid interfaces are ['%s'].",
			t, name, strings.Join(c.allEnabled(t), "', '"))
	}
	h, _ := c.HardwareType(hw)
	if !h.TakesAny && !slices.Contains(h.Supported[t], name) {
		return Errorf(Invalid, "%s interface implementation '%s' is not supported by hardware type %s; it takes %v.",
			t, name, hw, c.EnabledInterfaces(hw, t))
	}
	return nil
}

func (c *Catalogue) allEnabled(t InterfaceType) []string {
	if list, ok := c.interfaces[t]; ok && list != nil {
		return list
	}
	var names []string
	for _, h := range hardwareTypes {
		for _, n := range h.Supported[t] {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// ResolveInterfaces gives every unset interface of the node its default and
// checks those that are set. Ironic: driver_factory.check_and_update_node_interfaces.
func (c *Catalogue) ResolveInterfaces(n *Node) error {
	if _, ok := c.HardwareType(n.Driver); !ok {
		return Errorf(Invalid, "The hardware type %s is not switched on here: it is not among enabled_hardware_types.", n.Driver)
	}
	for _, t := range interfaceTypes {
		field := n.InterfaceField(t)
		if *field != "" {
			if err := c.CheckInterface(n.Driver, t, *field); err != nil {
				return err
			}
			continue
		}
		d, err := c.DefaultInterface(n.Driver, t)
		if err != nil {
			return err
		}
		*field = d
	}
	return nil
}

// HostOf is who carries out the node's operations.
func HostOf(hw string) Host {
	for _, h := range hardwareTypes {
		if h.Name == hw {
			return h.Host
		}
	}
	return HostedAtAgent
}
