package metal

import "time"

// Fire moves the node along event: state, target, and the times and texts that
// go with every change of state. keepTarget, where not empty, overrides the
// table's target: manual cleaning keeps "manageable" all the way. The
// reservation is the caller's business.
// Ironic: conductor/task_manager.process_event.
func Fire(n *Node, event Event, keepTarget State, at time.Time) error {
	t, ok := Next(n.ProvisionState, event)
	if !ok {
		return Errorf(Invalid, "The event %q is not possible while the node %s is in the state %q.",
			event, n.Label(), n.ProvisionState)
	}
	target := t.Target
	info, _ := t.To.Info()
	if keepTarget != NoState && info.Class != Stable {
		target = keepTarget
	}
	n.setState(t.To, target, at)
	return nil
}

func (n *Node) setState(to, target State, at time.Time) {
	if to.Is(Inspecting) && !n.ProvisionState.Is(InspectWait) {
		n.InspectionStartedAt, n.InspectionFinishedAt = &at, nil
	}
	if n.ProvisionState.Is(Inspecting, InspectWait) {
		switch to {
		case Manageable:
			n.InspectionFinishedAt, n.InspectionStartedAt = &at, nil
		case InspectFailed:
			n.InspectionStartedAt = nil
		}
	}
	n.ProvisionState = to
	n.TargetProvisionState = target
	n.ProvisionUpdatedAt = &at
}

// ManualClean reports whether the cleaning under way was asked for by hand;
// the target state is the only thing that tells (state-machine note T1).
func (n *Node) ManualClean() bool {
	return n.TargetProvisionState == Manageable && n.ProvisionState.Is(Cleaning, CleanWait, CleanHold, CleanFailed)
}

// Waits reports whether work in state s waits for somebody else: the ramdisk, or
// a user who says unhold.
func (s State) Waits() bool {
	info, _ := s.Info()
	return info.Waiting || info.Class == Hold
}

// Reserves reports whether an open operation holds the node's lock (reservation)
// in state s: not while it waits for somebody else.
func (a Axis) Reserves(s State) bool { return a != AxisProvision || !s.Waits() }
