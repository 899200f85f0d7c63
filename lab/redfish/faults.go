package redfish

import (
	"encoding/json"

	"ferrule/lab/event"
)

// SetFaults replaces what is wrong with the BMC. A change of certificate, or
// refusing connections, cuts those that are open; the end of a hang lets the
// requests go on that waited.
func (b *BMC) SetFaults(f Faults) error {
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	if b.stopped {
		return nil
	}
	b.mu.Lock()
	before := b.faults
	b.faults = f
	if before.Hang && !f.Hang {
		close(b.released)
		b.released = make(chan struct{})
	}
	b.mu.Unlock()
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	b.log.Add(event.FaultsSet, "faults", string(text))
	if before.RefuseConnections == f.RefuseConnections && before.OtherCertificate == f.OtherCertificate {
		return nil
	}
	b.unlisten()
	if f.RefuseConnections {
		return nil
	}
	return b.listen()
}

// Faults is what is wrong with the BMC.
func (b *BMC) Faults() Faults {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}
