package runner

import (
	"cmp"
	"fmt"

	"ferrule/hardware"
	"ferrule/metal"
)

// seePower believes what the power watch saw. Ironic: conductor/manager,
// do_sync_power_state with force_power_state_during_sync off.
func seePower(w World, out *Outcome, e metal.InboxEntry) {
	var p metal.PowerPayload
	if e.Payload.Decode(&p) != nil {
		return
	}
	n := &out.Node
	if p.ErrorCode == "" {
		seeHealth(w, out, p.Health)
	}
	for _, op := range w.Operations {
		if op.Axis == metal.AxisPower {
			return // the power action under way will say what came of it
		}
	}
	if !powerWatched(n.ProvisionState) {
		return
	}
	if p.ErrorCode != "" || p.State == metal.PowerUnknown {
		powerFault(w, out, p)
		return
	}
	if n.DriverInternalInfo.Lookup(metal.InfoPowerFailures) != nil {
		n.DriverInternalInfo = n.DriverInternalInfo.Without(metal.InfoPowerFailures)
	}
	if n.Fault != nil && *n.Fault == metal.FaultPower {
		n.Maintenance, n.MaintenanceReason, n.Fault = false, nil, nil
		n.LastError = nil
	}
	if n.Maintenance && n.PowerState != nil {
		return
	}
	state := string(p.State)
	if n.PowerState == nil || *n.PowerState != state {
		n.PowerState = &state
	}
}

// seeHealth keeps what the BMC tells of the hardware (Ironic: conductor/utils.
// node_cache_health), in whatever state: the watch tells of a change once.
func seeHealth(w World, out *Outcome, health metal.Health) {
	n := &out.Node
	before := ""
	if n.Health != nil {
		before = *n.Health
	}
	if !w.Settings.WatchHealth || !w.Catalogue.Machine(n).Row(metal.ManagementInterface).Management.TellsHealth || before == string(health) {
		return
	}
	n.Health = filled(string(health))
	out.History = append(out.History, metal.HistoryEntry{
		UUID: w.NewID(), NodeUUID: n.UUID, Severity: "INFO", EventType: "monitoring", Conductor: w.Settings.Host, CreatedAt: w.Now,
		Event: fmt.Sprintf("Node health status changed: health='%s' (previously '%s')", cmp.Or(string(health), "None"), cmp.Or(before, "None")),
		State: n.ProvisionState, TargetProvisionState: n.TargetProvisionState,
	})
}

func powerFault(w World, out *Outcome, p metal.PowerPayload) {
	n := &out.Node
	if n.Maintenance {
		return
	}
	var failures int
	_ = metal.ToJSON(n.DriverInternalInfo.Lookup(metal.InfoPowerFailures)).Decode(&failures)
	failures++
	n.DriverInternalInfo = n.DriverInternalInfo.With(metal.InfoPowerFailures, failures)
	if failures <= w.Settings.PowerSyncMaxRetries {
		return // the last confirmed value stays
	}
	text := fmt.Sprintf("The power state could not be read %d times in a row: %s", failures, p.Message)
	fault := metal.FaultPower
	n.Maintenance, n.MaintenanceReason, n.Fault, n.LastError, n.PowerState = true, &text, &fault, &text, nil
	out.History = append(out.History, metal.HistoryEntry{
		UUID: w.NewID(), NodeUUID: n.UUID, Severity: "ERROR", EventType: "monitoring", Event: text,
		Conductor: w.Settings.Host, CreatedAt: w.Now, State: n.ProvisionState, TargetProvisionState: n.TargetProvisionState,
	})
}

func powerWatched(s metal.State) bool {
	return !s.Is(metal.DeployWait, metal.CleanWait, metal.Enroll, metal.AdoptFailed)
}

// powerTasks carry out a target of PUT states/power. A restart is off, look,
// on: no single action of a BMC can be sent twice without harm.
func (r *run) powerTasks() []task {
	var tasks []task
	switch metal.PowerState(r.op.Verb) {
	case metal.Rebooting:
		tasks = []task{hardware.SetPower(metal.PowerOff), hardware.SetPower(metal.PowerOn)}
	case metal.SoftRebooting:
		tasks = []task{r.softOff(), hardware.SetPower(metal.PowerOn)}
	case metal.SoftPowerOff:
		tasks = []task{r.softOff()}
	default:
		tasks = []task{hardware.SetPower(metal.PowerState(r.op.Verb))}
	}
	return append(tasks, task{Do: hardware.TaskPowerDone})
}

func (r *run) softOff() task {
	var args struct {
		Timeout int `json:"timeout"`
	}
	_ = r.op.Args.Decode(&args)
	if args.Timeout == 0 {
		args.Timeout = int(r.Settings.SoftPowerTimeout.Seconds())
	}
	return task{Do: hardware.TaskSetPower, Args: metal.ToJSON(metal.SetPowerArgs{Target: metal.SoftPowerOff, TimeoutSeconds: args.Timeout})}
}

// powerDone ends a power operation.
func powerDone(r *run, _ task) (verdict, error) {
	r.node.TargetPowerState = nil
	if metal.PowerState(r.op.Verb) != metal.PowerOn {
		r.forgetRamdisk(false)
	}
	r.close()
	return done, nil
}

func (r *run) powerFailed(err error) {
	text := fmt.Sprintf("Failed to change power state to '%s': %s", r.op.Verb, err)
	r.node.TargetPowerState = nil
	r.setLastError(text)
	r.history("ERROR", "monitoring", text)
	r.close()
}
