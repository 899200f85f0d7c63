package hardware

import "ferrule/metal"

// Host says who carries out the operations of a hardware type.
type Host string

// The hosts.
const (
	HostedHere    Host = "conductor" // the conductor process itself: nothing to dial
	HostedAtAgent Host = "agent"     // a site agent
)

// Type is the row of a hardware type: which implementations of each interface it
// takes, in order of preference for the default (Ironic: drivers/generic,
// drivers/redfish, drivers/fake_hardware).
type Type struct {
	Name      string
	Host      Host
	Driver    string // an agent without this driver does not host the type
	Supported map[metal.InterfaceType][]*Interface
	// TakesAny: an implementation outside Supported is accepted when it is
	// named and enabled; Supported then only decides the default.
	TakesAny bool
}

// Types is the catalogue of what is built in.
func Types() []Type { return hardwareTypes }

var hardwareTypes = []Type{
	{
		Name: "fake-hardware", Host: HostedHere, Driver: "fake", TakesAny: true,
		Supported: supported(
			&fakeBIOS, &noBIOS,
			&fakeBoot,
			&fakeConsole, &noConsole,
			&fakeDeploy, &autodetect, &direct,
			&fakeFirmware, &noFirmware,
			&fakeInspect, &agentInspect, &noInspect,
			&fakeManagement,
			&fakePower,
			&fakeRAID, &noRAID, &agentRAID,
			&fakeRescue, &noRescue, &agentRescue,
			&fakeStorage, &noopStorage,
			&fakeVendor, &noVendor,
		),
	},
	{
		Name: "manual-management", Host: HostedHere, Driver: "manual",
		Supported: supported(
			&fakeBoot, // Ironic's are all network boot, which is not built in
			&autodetect, &direct, &noopDeploy,
			&noopManagement, &fakeManagement,
			&fakePower,
		),
	},
	{
		Name: "redfish", Host: HostedAtAgent, Driver: "redfish",
		Supported: supported(
			&redfishBIOS, &noBIOS,
			&ipxe, &pxe, &httpIPXE, &httpBoot, &redfishVirtualMedia, &redfishHTTPS,
			&noFirmware, &redfishFirmware,
			&redfishInspect, &agentInspect, &noInspect,
			&redfishManagement, &noopManagement,
			&redfishPower,
			&redfishRAID, &noRAID, &agentRAID,
			&redfishVendor, &noVendor,
		),
	},
}

// supported are the given implementations, and those that every hardware type
// inherits of the interfaces of which none is given.
func supported(own ...*Interface) map[metal.InterfaceType][]*Interface {
	all := map[metal.InterfaceType][]*Interface{}
	for _, row := range own {
		all[row.Type] = append(all[row.Type], row)
	}
	inherited := map[metal.InterfaceType][]*Interface{}
	for _, row := range []*Interface{
		&noBIOS, &noConsole, &autodetect, &direct, &noFirmware, &agentInspect, &noInspect, &noopNetwork,
		&noRAID, &agentRAID, &noRescue, &agentRescue, &noopStorage, &noVendor,
	} {
		if len(all[row.Type]) == 0 {
			inherited[row.Type] = append(inherited[row.Type], row)
		}
	}
	for t, rows := range inherited {
		all[t] = rows
	}
	return all
}

// takes reports whether the hardware type has the implementation.
func (h Type) takes(t metal.InterfaceType, name string) bool {
	for _, row := range h.Supported[t] {
		if row.Name == name {
			return true
		}
	}
	return false
}

// HostOf is who carries out the operations of a hardware type.
func HostOf(hw string) Host {
	for _, h := range hardwareTypes {
		if h.Name == hw {
			return h.Host
		}
	}
	return HostedAtAgent
}

// ServedHere reports whether a driver is one that the conductor process runs
// itself.
func ServedHere(driver string) bool {
	for _, h := range hardwareTypes {
		if h.Host == HostedHere && h.Driver == driver {
			return true
		}
	}
	return false
}

// rowKey names an implementation.
type rowKey struct {
	of   metal.InterfaceType
	name string
}

// rowsOf has every row that some hardware type lists.
func rowsOf(types []Type) map[rowKey]*Interface {
	index := map[rowKey]*Interface{}
	for _, h := range types {
		for _, rows := range h.Supported {
			for _, row := range rows {
				index[rowKey{row.Type, row.Name}] = row
			}
		}
	}
	return index
}
