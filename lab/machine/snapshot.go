package machine

import "ferrule/lab/disk"

// Snapshot is all there is to see of a machine at one instant.
type Snapshot struct {
	Power       Power            `json:"power"`
	Boot        Boot             `json:"boot"`
	Media       string           `json:"media,omitempty"` // URL, without its secrets
	System      System           `json:"system"`
	LastBoot    BootResult       `json:"lastBoot"`
	PowerOns    int              `json:"powerOns"`
	Image       *disk.Written    `json:"image"`
	ConfigDrive disk.ConfigDrive `json:"configDrive"`
}

// Snapshot looks at the machine.
func (m *Machine) Snapshot() Snapshot {
	m.mu.Lock()
	s := Snapshot{
		Power: m.power, Boot: m.boot, Media: m.media.URL, System: m.system,
		LastBoot: m.result, PowerOns: m.posts,
	}
	m.mu.Unlock()
	s.Image = m.disk.Written()
	if s.Image != nil {
		s.ConfigDrive = m.disk.ConfigDrive()
	}
	return s
}

// KernelLine is what the last boot of a medium passed to the kernel. It may
// hold a token, so it is in no snapshot.
func (m *Machine) KernelLine() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.result.KernelLine
}
