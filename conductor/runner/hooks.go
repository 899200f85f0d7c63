package runner

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"ferrule/conductor/rules"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/metal/pytext"
)

// inspection is what an inspection found, on its way through the hooks and the
// rules.
type inspection struct {
	*run
	inventory, plugin map[string]any
	before            metal.Node // for the credentials that rules set
	ports             []*metal.Port
	changed           map[string]bool // ports by UUID
	gone              map[string]bool
}

func (r *run) inspection(inventory, plugin metal.JSON) *inspection {
	i := &inspection{
		run: r, inventory: inventory.Object(), plugin: plugin.Object(), before: *r.node,
		changed: map[string]bool{}, gone: map[string]bool{},
	}
	for _, p := range r.Ports {
		i.ports = append(i.ports, &p)
	}
	return i
}

// hook is one of Ironic's inspection hooks: preprocess comes before all others'
// process (drivers/modules/inspector/hooks).
type hook struct {
	preprocess func(i *inspection) error
	process    func(i *inspection) error
}

var hooks = map[string]hook{
	"ramdisk-error":       {preprocess: ramdiskError},
	"validate-interfaces": {preprocess: validateInterfaces},
	"ports":               {process: processPorts},
	"architecture":        {process: architecture},
	"memory":              {process: memory},
	"cpus":                {process: cpus},
	"boot-mode":           {process: bootMode},
	"cpu-capabilities":    {process: cpuCapabilities},
}

// BuiltInHooks are the names of the inspection hooks that there are.
func BuiltInHooks() []string { return slices.Sorted(maps.Keys(hooks)) }

// runHooks runs the named hooks in their order (Ironic: inspect_utils.
// run_inspection_hooks).
func (i *inspection) runHooks(names []string) error {
	var failures []string
	for _, name := range names {
		h := hooks[name]
		if h.preprocess == nil {
			continue
		}
		err := h.preprocess(i)
		var invalid invalidInventory
		switch {
		case err == nil:
		case errors.As(err, &invalid):
			failures = append(failures, fmt.Sprintf("Unexpected exception InvalidNodeInventory during preprocess hook %s: %s", name, invalid.text(i.node)))
		default:
			failures = append(failures, fmt.Sprintf("Error in preprocess hook %s: %s", name, hardwareFailure(err.Error())))
		}
	}
	if len(failures) > 0 {
		return told(hardwareFailure(fmt.Sprintf("The following failures happened while running preprocess hooks for node %s:\n%s",
			i.node.UUID, strings.Join(failures, "\n"))))
	}
	for _, name := range names {
		h := hooks[name]
		if h.process == nil {
			continue
		}
		err := h.process(i)
		var invalid invalidInventory
		if errors.As(err, &invalid) {
			err = unexpected{"InvalidNodeInventory", invalid.text(i.node)}
		}
		var odd unexpected
		switch {
		case err == nil:
		case errors.As(err, &odd):
			return told(hardwareFailure(fmt.Sprintf("Unexpected exception %s during processing for node: %s. Error: %s", odd.class, i.node.UUID, odd.text)))
		default:
			return told(hardwareFailure(err.Error()))
		}
	}
	return nil
}

// invalidInventory is what is wrong with an inventory.
type invalidInventory string

func (e invalidInventory) Error() string { return string(e) }

func (e invalidInventory) text(n *metal.Node) string {
	return fmt.Sprintf("Inventory for node %s is invalid: %s", n.UUID, string(e))
}

func ramdiskError(i *inspection) error {
	switch text := i.plugin["error"]; text {
	case nil, "", false:
		return nil
	default:
		return fmt.Errorf("Ramdisk reported error: %s", pytext.Str(text))
	}
}

// validateInterfaces notes the NICs with a MAC address, and those of them that
// are to get ports, as [inspector]add_ports says.
func validateInterfaces(i *inspection) error {
	listed, ok := i.inventory["interfaces"].([]any)
	if !ok {
		return invalidInventory("no interfaces present in inventory")
	}
	pxe := i.pxeMAC()
	all, valid, macs := map[string]any{}, map[string]any{}, []any{}
	var names []string
	for _, item := range listed {
		nic, _ := item.(map[string]any)
		name, _ := nic["name"].(string)
		mac, ok := validMAC(nic["mac_address"])
		if name == "" || !ok {
			continue
		}
		if _, twice := all[name]; !twice {
			names = append(names, name)
		}
		nic = maps.Clone(nic)
		nic["pxe_enabled"] = mac == pxe
		if v6, ok := nic["ipv6_address"].(string); ok {
			nic["ipv6_address"], _, _ = strings.Cut(v6, "%")
		} else {
			nic["ipv6_address"] = nil
		}
		all[name] = nic
	}
	if len(all) == 0 {
		return invalidInventory("no valid network interfaces")
	}
	for _, name := range names {
		nic := all[name].(map[string]any)
		if i.getsPort(name, nic, pxe) {
			valid[name] = maps.Clone(nic)
			macs = append(macs, nic["mac_address"])
		}
	}
	if len(valid) == 0 {
		return invalidInventory(fmt.Sprintf("no network interfaces match the configuration (add_ports set to %q)", i.Settings.AddPorts))
	}
	i.plugin["all_interfaces"], i.plugin["valid_interfaces"], i.plugin["macs"] = all, valid, macs
	return nil
}

func (i *inspection) getsPort(name string, nic map[string]any, pxe string) bool {
	ip, _ := nic["ipv4_address"].(string)
	if ip == "" {
		ip, _ = nic["ipv6_address"].(string)
	}
	switch {
	case name == "lo", net.ParseIP(ip).IsLoopback():
		return false
	case i.Settings.AddPorts == "pxe":
		return pxe == "" || nic["pxe_enabled"] == true
	case i.Settings.AddPorts == "active":
		return ip != ""
	}
	return true
}

// pxeMAC is the address of the NIC that the ramdisk was booted over; BOOTIF
// writes it with hyphens and a hardware type in front.
func (i *inspection) pxeMAC() string {
	boot, _ := i.inventory["boot"].(map[string]any)
	mac, _ := boot["pxe_interface"].(string)
	if _, rest, hyphens := strings.Cut(mac, "-"); hyphens {
		mac = strings.ReplaceAll(rest, "-", ":")
	}
	return strings.ToLower(mac)
}

// validMAC is the stored form of an address.
func validMAC(v any) (string, bool) {
	text, _ := v.(string)
	mac, err := net.ParseMAC(text)
	return strings.ToLower(text), err == nil && len(mac) == 6 && len(text) == 17 && !strings.Contains(text, "-")
}

// processPorts makes ports of the valid NICs and brings those that are there in
// line with what was found.
func processPorts(i *inspection) error {
	valid, _ := i.plugin["valid_interfaces"].(map[string]any)
	all, _ := i.plugin["all_interfaces"].(map[string]any)
	if i.Settings.AddPorts != "disabled" {
		listed, _ := i.inventory["interfaces"].([]any)
		for _, item := range listed {
			nic, _ := item.(map[string]any)
			if name, _ := nic["name"].(string); valid[name] != nil {
				i.addPort(valid[name].(map[string]any))
			}
		}
	}
	found := map[string]map[string]any{} // all NICs by address
	for _, item := range all {
		nic, _ := item.(map[string]any)
		mac, _ := validMAC(nic["mac_address"])
		found[mac] = nic
	}
	keep := map[string]bool{}
	switch i.Settings.KeepPorts {
	case "present":
		for mac := range found {
			keep[mac] = true
		}
	case "added":
		for _, item := range valid {
			mac, _ := validMAC(item.(map[string]any)["mac_address"])
			keep[mac] = true
		}
	}
	for _, p := range i.ports {
		if len(keep) > 0 && !keep[p.Address] {
			i.gone[p.UUID] = true
			continue
		}
		i.updatePort(p, found[p.Address])
	}
	i.ports = slices.DeleteFunc(i.ports, func(p *metal.Port) bool { return i.gone[p.UUID] })
	return nil
}

// addPort makes a port of a NIC that the node has none for. That another node
// has one is found when it is written.
func (i *inspection) addPort(nic map[string]any) {
	mac, _ := validMAC(nic["mac_address"])
	if slices.ContainsFunc(i.ports, func(p *metal.Port) bool { return p.Address == mac }) {
		return
	}
	p := i.newPort(mac, nic["pxe_enabled"] == true)
	i.ports = append(i.ports, &p)
}

func (r *run) newPort(mac string, pxe bool) metal.Port {
	return metal.Port{
		UUID: r.NewID(), NodeUUID: r.node.UUID, Address: mac, PXEEnabled: pxe, CreatedAt: r.Now,
		Extra: metal.EmptyObject, InternalInfo: metal.EmptyObject, LocalLinkConnection: metal.EmptyObject,
		AvailableForDynamicPortgroup: true,
	}
}

func (i *inspection) updatePort(p *metal.Port, nic map[string]any) {
	if pxe := nic["pxe_enabled"] == true; i.Settings.UpdatePXEEnabled && pxe != p.PXEEnabled {
		p.PXEEnabled, i.changed[p.UUID] = pxe, true
	}
	if id, _ := nic["client_id"].(string); id != "" && id != p.Extra.Text("client-id") {
		p.Extra, i.changed[p.UUID] = p.Extra.With("client-id", id), true
	}
}

func architecture(i *inspection) error {
	cpu, _ := i.inventory["cpu"].(map[string]any)
	arch, ok := cpu["architecture"]
	if !ok {
		return invalidInventory(fmt.Sprintf("Inventory has malformed or missing CPU architecture information: %s for node %s.",
			pytext.Str(i.inventory["cpu"]), i.node.UUID))
	}
	i.node.Properties = i.node.Properties.With("cpu_arch", arch)
	return nil
}

// applyRules holds the inspection rules against what was found, and seals the
// credentials that they set.
func (i *inspection) applyRules() error {
	if i.RulesError != nil {
		return i.RulesError
	}
	s := &rules.Subject{Node: i.node, Ports: i.ports, Inventory: i.inventory, PluginData: i.plugin, Changed: i.changed}
	notes, err := rules.Apply(i.ctx, s, i.Rules, rules.Settings{
		MaskSecrets: i.Settings.MaskSecrets, Catalogue: i.Catalogue, Taken: i.Taken,
	})
	i.out.Notes = append(i.out.Notes, notes...)
	// What a rule writes may be the machine's own words, so no password follows it.
	deleted := hardware.MovedPasswords(&i.before, i.node)
	for _, p := range deleted {
		i.node.DriverInfo = i.node.DriverInfo.Without(p.Key)
	}
	moved, sealErr := metal.SealNode(&i.before, i.node)
	if sealErr != nil {
		i.node.DriverInfo, i.node.InstanceInfo = i.before.DriverInfo, i.before.InstanceInfo
		return sealErr
	}
	for _, p := range deleted {
		i.history("INFO", "credentials", fmt.Sprintf("%s was deleted, because an inspection rule changed %s. Write it for the BMC as it is now described.",
			p.Key, strings.Join(p.Changed, ", ")))
	}
	for _, m := range moved {
		i.out.DropSecrets = append(i.out.DropSecrets, m.Drops...)
		for ref, value := range m.Puts {
			if i.out.Secrets == nil {
				i.out.Secrets = map[string]string{}
			}
			i.out.Secrets[ref] = value
		}
	}
	return err
}

// store keeps what was found. The ramdisk's logs are not: they can be huge.
func (i *inspection) store() {
	delete(i.plugin, "logs")
	i.out.Inventory = &metal.InventoryRecord{
		NodeUUID: i.node.UUID, Inventory: metal.ToJSON(i.inventory), PluginData: metal.ToJSON(i.plugin), CreatedAt: i.Now,
	}
}

// settle writes what became of the ports.
func (i *inspection) settle() {
	old := map[string]bool{}
	for _, p := range i.Ports {
		old[p.UUID] = true
	}
	for _, p := range i.ports {
		switch {
		case !old[p.UUID]:
			i.out.CreatePorts = append(i.out.CreatePorts, *p)
		case i.changed[p.UUID]:
			i.out.UpdatePorts = append(i.out.UpdatePorts, *p)
		}
	}
	i.out.DeletePorts = append(i.out.DeletePorts, slices.Sorted(maps.Keys(i.gone))...)
}
