package lab

import (
	"slices"

	"ferrule/lab/machine"
	"ferrule/lab/ramdisk"
	"ferrule/lab/redfish"
)

// Identity is what one needs to enrol a server, without its password.
type Identity struct {
	Name           string        `json:"name"`
	RedfishAddress string        `json:"redfishAddress"`
	SystemID       string        `json:"systemId"` // the whole path
	Username       string        `json:"username"`
	PasswordSHA256 string        `json:"passwordSha256"`
	SPKISHA256     string        `json:"spkiSha256,omitempty"`
	NICs           []ramdisk.NIC `json:"nics"`
	CPUs           int           `json:"cpus"`
	Architecture   string        `json:"architecture"`
	MemoryMiB      int64         `json:"memoryMib"`
	DiskBytes      int64         `json:"diskBytes"`
	Manufacturer   string        `json:"manufacturer"`
	Product        string        `json:"product"`
	Serial         string        `json:"serial"`
	UEFI           bool          `json:"uefi"`
}

// Snapshot is all there is to see of a server at one instant.
type Snapshot struct {
	Identity
	machine.Snapshot
	BMC       redfish.Observed `json:"bmc"`
	Faults    redfish.Faults   `json:"faults"`
	LastEvent uint64           `json:"lastEvent"`
}

// Identity is what one needs to enrol the server.
func (s *Server) Identity() Identity {
	h := s.Machine.Hardware()
	return Identity{
		Name: s.Name, RedfishAddress: s.BMC.Address(), SystemID: "/redfish/v1/Systems/" + s.SystemID,
		Username: s.username, PasswordSHA256: passwordDigest(s.password), SPKISHA256: s.BMC.SPKI(),
		NICs: slices.Clone(h.NICs), CPUs: h.CPUs, Architecture: h.Architecture, MemoryMiB: h.MemoryMiB,
		DiskBytes: h.DiskBytes, Manufacturer: h.Manufacturer, Product: h.Product, Serial: h.Serial, UEFI: h.UEFI,
	}
}

// Snapshot looks at the server.
func (s *Server) Snapshot() Snapshot {
	return Snapshot{
		Identity: s.Identity(), Snapshot: s.Machine.Snapshot(), BMC: s.BMC.Observed(),
		Faults: s.BMC.Faults(), LastEvent: s.Events.Last(),
	}
}

// Reset makes the server what it was at the start: off, its disk blank, its
// faults gone. What the BMC observed stays.
func (s *Server) Reset() error {
	s.SetStepFaults(nil)
	if err := s.BMC.SetFaults(redfish.Faults{}); err != nil {
		return err
	}
	for _, m := range append([]*machine.Machine{s.Machine}, s.others...) {
		if err := m.Reinstate(); err != nil {
			return err
		}
	}
	return nil
}
