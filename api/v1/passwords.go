package v1

import (
	"context"
	"fmt"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

// movedPasswords are the stored passwords that a change of a node would send to
// another BMC, or in another way.
type movedPasswords struct {
	list []hardware.MovedPassword
	kept bool // they follow the change
}

// holdPasswords takes such passwords out of driver_info, unless the sender acts
// for the system. Whoever may change a node does not get its password by pointing
// the node at a BMC of his own.
func (u *nodeUpdate) holdPasswords(n *metal.Node) *movedPasswords {
	m := &movedPasswords{list: hardware.MovedPasswords(&u.before, n), kept: u.call.rights.system()}
	for _, p := range m.list {
		if !m.kept {
			n.DriverInfo = n.DriverInfo.Without(p.Key)
		}
	}
	return m
}

// follow has the passwords that are kept sealed again, for the BMC as it is
// described now.
func (m *movedPasswords) follow(ctx context.Context, u *nodeUpdate, changes *secretChanges) error {
	if !m.kept {
		return nil
	}
	for _, p := range m.list {
		ref := metal.DriverInfoSecrets(u.before.UUID).Below(p.Key).Ref()
		value, err := u.service.openSecret(ctx, u.tx, ref, hardware.SealedFor(&u.before, ref))
		if err != nil {
			u.service.log.ErrorContext(ctx, "a stored password does not open", "node", u.before.UUID, "key", p.Key, "error", err)
			return conflict("The stored %s of node %s does not open. Give it again in the request that changes %s.",
				p.Key, u.before.UUID, strings.Join(p.Changed, ", "))
		}
		changes.puts[ref] = value
	}
	return nil
}

// tell writes what became of the passwords to the node's history and the log.
func (m *movedPasswords) tell(ctx context.Context, u *nodeUpdate, n *metal.Node) error {
	who := u.call.rights.who
	for _, p := range m.list {
		changed := strings.Join(p.Changed, ", ")
		text := fmt.Sprintf("%s was deleted, because %s changed and the request did not give it again. Write it for the BMC as it is now described.", p.Key, changed)
		if m.kept {
			text = fmt.Sprintf("%s was kept when %s changed, and goes to the BMC as it is now described.", p.Key, changed)
		}
		u.service.log.InfoContext(ctx, "a change of a node's BMC met its stored password", "node", n.UUID, "key", p.Key, "changed", changed, "kept", m.kept, "user", who.User)
		if !u.service.config.Conductor.NodeHistory {
			continue
		}
		entry := metal.HistoryEntry{
			UUID: newUUID(), NodeUUID: n.UUID, Severity: "INFO", EventType: "credentials", Event: text,
			Conductor: u.service.config.Default.Host, CreatedAt: u.service.now(),
			State: n.ProvisionState, TargetProvisionState: n.TargetProvisionState,
		}
		if who.User != "" {
			entry.User = &who.User
		}
		if err := u.tx.AddHistory(ctx, &entry); err != nil {
			return err
		}
	}
	return nil
}
