package hardware

import "ferrule/metal"

// networkBootProperties are the driver_info keys of what boots a ramdisk over
// the network.
var networkBootProperties = []Property{
	ramdiskProperty("deploy_kernel"), ramdiskProperty("deploy_ramdisk"),
	ramdiskProperty("rescue_kernel"), ramdiskProperty("rescue_ramdisk"),
	ramdiskProperty("kernel_append_params"),
	{Key: "force_persistent_boot_device", Help: "Always, Never or Default: whether boot devices are set for good, for one start, or for good only at the end of a deployment."},
}

// ramdiskProperty finds a key of ramdiskProperties.
func ramdiskProperty(key string) Property {
	for _, p := range ramdiskProperties {
		if p.Key == key {
			return p
		}
	}
	panic("no driver_info key " + key)
}

// networkBoot is the row of an implementation for which the site serves boot
// entries.
func networkBoot(name string, capabilities ...string) Interface {
	return Interface{
		Type: metal.BootInterface, Name: name, Unserved: true,
		Properties:   networkBootProperties,
		Needs:        []metal.Operation{metal.BootEntriesSet, metal.BootCleanUp, metal.RamdiskCall},
		Capabilities: capabilities,
		Validate:     validateNetworkBoot,
		Boot: Boot{
			Inspects: true,
			Prepare:  func([]string) []Task { return []Task{refuse("boot interface " + name)} },
			Again:    func() []Task { return []Task{refuse("boot interface " + name)} },
		},
	}
}

// validateNetworkBoot: the site finds a machine by the MAC addresses of its
// ports.
func validateNetworkBoot(m Machine) error {
	if len(m.Ports) == 0 {
		return metal.Errorf(metal.Invalid, "Node %s does not have any port associated with it.", m.Node.Label())
	}
	_, err := m.DeployRamdisk()
	return err
}
