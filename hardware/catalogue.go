package hardware

import (
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
)

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
	rows       map[rowKey]*Interface            // all that are built in
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
	c := &Catalogue{rows: rowsOf(hardwareTypes), defaults: on.Defaults, settings: settings, interfaces: map[metal.InterfaceType][]string{}}
	for _, h := range hardwareTypes {
		if on.HardwareTypes == nil || slices.Contains(on.HardwareTypes, h.Name) {
			c.types = append(c.types, h)
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
			row := c.rows[rowKey{t, n}]
			if row != nil {
				c.interfaces[t] = append(c.interfaces[t], n)
			}
			if row == nil || row.Unserved {
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

// Skipped lists what the configuration names and is not built in, or is so far
// only validated and shown.
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
	return c.rows[rowKey{t, name}] != nil
}

// EnabledInterfaces are the implementations of t that hw supports and the
// configuration enables, in order of preference.
func (c *Catalogue) EnabledInterfaces(hw string, t metal.InterfaceType) []string {
	h, ok := c.HardwareType(hw)
	if !ok {
		return nil
	}
	var names []string
	for _, row := range h.Supported[t] {
		if c.enabled(t, row.Name) {
			names = append(names, row.Name)
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
	if i := slices.IndexFunc(names, func(name string) bool { return !c.rows[rowKey{t, name}].Unserved }); i >= 0 {
		return names[i], nil
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
	if !h.TakesAny && !h.takes(t, name) {
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
		for _, row := range h.Supported[t] {
			if !slices.Contains(names, row.Name) {
				names = append(names, row.Name)
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

// DriverProperties is the text map of GET /v1/drivers/{name}/properties.
func (c *Catalogue) DriverProperties(hw string) map[string]string {
	props := map[string]string{}
	for _, t := range metal.InterfaceTypes() {
		row, err := c.DefaultRow(hw, t)
		if err != nil {
			continue
		}
		for _, p := range row.Properties {
			help := p.Help
			if p.Required {
				help += " Required."
			}
			props[p.Key] = help
		}
	}
	return props
}

// DefaultRow is the row of DefaultInterface.
func (c *Catalogue) DefaultRow(hw string, t metal.InterfaceType) (*Interface, error) {
	name, err := c.DefaultInterface(hw, t)
	if err != nil {
		return nil, err
	}
	return c.rows[rowKey{t, name}], nil
}
