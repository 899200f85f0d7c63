package hardware

import (
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
)

// Host says who carries out the operations of a hardware type.
type Host string

// The hosts.
const (
	HostedHere    Host = "conductor" // the conductor process itself: nothing to dial
	HostedAtAgent Host = "agent"     // a site agent
)

// Type is a row of the catalogue: which implementations of each
// interface a driver takes, in order of preference for the default
// (Ironic: drivers/generic, drivers/redfish, drivers/fake_hardware).
type Type struct {
	Name      string
	Host      Host
	Driver    string // folder under drivers/ that carries out BMC operations
	Supported map[metal.InterfaceType][]string
	// TakesAny: an implementation outside Supported is accepted when it is
	// named and enabled; Supported then only decides the default.
	TakesAny bool
}

// Types is the catalogue of what is built in.
func Types() []Type { return hardwareTypes }

var hardwareTypes = []Type{
	{
		Name: "fake-hardware", Host: HostedHere, Driver: "fake", TakesAny: true,
		Supported: supported(map[metal.InterfaceType][]string{
			metal.BIOSInterface:       {"fake", "no-bios"},
			metal.BootInterface:       {"fake"},
			metal.ConsoleInterface:    {"fake", "no-console"},
			metal.DeployInterface:     {"fake", "autodetect", "direct"},
			metal.FirmwareInterface:   {"fake", "no-firmware"},
			metal.InspectInterface:    {"fake", "agent", "no-inspect"},
			metal.ManagementInterface: {"fake"},
			metal.PowerInterface:      {"fake"},
			metal.RAIDInterface:       {"fake", "no-raid", "agent"},
			metal.RescueInterface:     {"fake", "no-rescue", "agent"},
			metal.StorageInterface:    {"fake", "noop"},
			metal.VendorInterface:     {"fake", "no-vendor"},
		}),
	},
	{
		Name: "manual-management", Host: HostedHere, Driver: "manual",
		Supported: supported(map[metal.InterfaceType][]string{
			metal.BootInterface:       {"fake"}, // Ironic's are all network boot, which is not built in
			metal.DeployInterface:     {"autodetect", "direct", "noop"},
			metal.ManagementInterface: {"noop", "fake"},
			metal.PowerInterface:      {"fake"},
		}),
	},
	{
		Name: "redfish", Host: HostedAtAgent, Driver: "redfish",
		Supported: supported(map[metal.InterfaceType][]string{
			metal.BootInterface:       {"redfish-virtual-media"},
			metal.FirmwareInterface:   {"no-firmware", "redfish"},
			metal.InspectInterface:    {"redfish", "agent", "no-inspect"},
			metal.ManagementInterface: {"redfish", "noop"},
			metal.PowerInterface:      {"redfish"},
			metal.VendorInterface:     {"redfish", "no-vendor"},
		}),
	},
}

// supported fills in what every hardware type inherits.
func supported(own map[metal.InterfaceType][]string) map[metal.InterfaceType][]string {
	all := map[metal.InterfaceType][]string{
		metal.BIOSInterface:     {"no-bios"},
		metal.BootInterface:     {},
		metal.ConsoleInterface:  {"no-console"},
		metal.DeployInterface:   {"autodetect", "direct"},
		metal.FirmwareInterface: {"no-firmware"},
		metal.InspectInterface:  {"agent", "no-inspect"},
		metal.NetworkInterface:  {"noop"},
		metal.RAIDInterface:     {"no-raid", "agent"},
		metal.RescueInterface:   {"no-rescue", "agent"},
		metal.StorageInterface:  {"noop"},
		metal.VendorInterface:   {"no-vendor"},
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
	Interfaces    map[metal.InterfaceType][]string
	Defaults      map[metal.InterfaceType]string
}

// Catalogue is the built-in catalogue as one configuration switches it on.
type Catalogue struct {
	types      []Type
	interfaces map[metal.InterfaceType][]string // nil: all
	defaults   map[metal.InterfaceType]string
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
	c := &Catalogue{defaults: on.Defaults, settings: settings, interfaces: map[metal.InterfaceType][]string{}}
	built := map[metal.InterfaceType]map[string]bool{}
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
		return nil, metal.Errorf(metal.Invalid, "None of the hardware types in enabled_hardware_types is built in; known are %s.", builtNames())
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
func (c *Catalogue) HardwareTypes() []Type { return c.types }

// HardwareType finds an enabled hardware type.
func (c *Catalogue) HardwareType(name string) (Type, bool) {
	for _, h := range c.types {
		if h.Name == name {
			return h, true
		}
	}
	return Type{}, false
}

// enabled reports whether an implementation is switched on.
func (c *Catalogue) enabled(t metal.InterfaceType, name string) bool {
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
func (c *Catalogue) EnabledInterfaces(hw string, t metal.InterfaceType) []string {
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
func (c *Catalogue) DefaultInterface(hw string, t metal.InterfaceType) (string, error) {
	names := c.EnabledInterfaces(hw, t)
	if d := c.defaults[t]; d != "" {
		if slices.Contains(names, d) || c.takesAny(hw) && c.enabled(t, d) {
			return d, nil
		}
		return "", metal.Errorf(metal.Invalid, "No valid default for the %s interface of hardware type %s: default_%s_interface is %q, enabled are %v.",
			t, hw, t, d, names)
	}
	if len(names) == 0 {
		return "", metal.Errorf(metal.Invalid, "No valid default for the %s interface of hardware type %s: enable one that it supports in enabled_%s_interfaces.",
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
func (c *Catalogue) CheckInterface(hw string, t metal.InterfaceType, name string) error {
	if !c.enabled(t, name) {
		return metal.Errorf(metal.Invalid, "Could not find the following interface in the 'ironic.hardware.interfaces.%s' entrypoint: %s. Valid interfaces are ['%s'].",
			t, name, strings.Join(c.allEnabled(t), "', '"))
	}
	h, _ := c.HardwareType(hw)
	if !h.TakesAny && !slices.Contains(h.Supported[t], name) {
		return metal.Errorf(metal.Invalid, "%s interface implementation '%s' is not supported by hardware type %s; it takes %v.",
			t, name, hw, c.EnabledInterfaces(hw, t))
	}
	return nil
}

func (c *Catalogue) allEnabled(t metal.InterfaceType) []string {
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
func (c *Catalogue) ResolveInterfaces(n *metal.Node) error {
	if _, ok := c.HardwareType(n.Driver); !ok {
		return metal.Errorf(metal.Invalid, "The hardware type %s is not switched on here: it is not among enabled_hardware_types.", n.Driver)
	}
	for _, t := range metal.InterfaceTypes() {
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
