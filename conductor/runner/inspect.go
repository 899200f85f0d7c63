package runner

import (
	"fmt"
	"strconv"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

var inspectActions = map[string]action{
	hardware.TaskAwaitInspection: {start: awaitInspection, signal: inspectionCame},
	hardware.TaskInspectBMC:      {start: startInspectBMC, result: bmcInspected},
}

func (r *run) inspectTasks() ([]task, error) {
	m := r.machine()
	row := m.Row(metal.InspectInterface)
	if row.Absent {
		return nil, hardware.Unsupported(r.node, "inspect")
	}
	var tasks []task
	if row.Inspect.Tasks != nil {
		tasks = row.Inspect.Tasks(m, hardware.Inspection{
			CreatePorts: r.Settings.PreCreatePorts, KernelParams: r.Settings.InspectParams, PowerOff: r.Settings.InspectPowerOff,
		})
	}
	return append(append(tasks, m.Refresh()...), finishWith(metal.EventDone)), nil
}

// NeedsRules reports whether the entry is one for which inspection rules run: they
// may take long, and no database may wait for them.
func NeedsRules(w *World, e metal.InboxEntry) bool {
	switch e.Kind {
	case metal.InboxInspection:
		return true
	case metal.InboxResult:
		return w.inspectsBMC(e)
	}
	return false
}

func (w *World) inspectsBMC(e metal.InboxEntry) bool {
	var p metal.ResultPayload
	if !w.Node.ProvisionState.Is(metal.Inspecting) || e.Payload.Decode(&p) != nil {
		return false
	}
	for _, op := range w.Operations {
		var at plan
		if op.ID == p.OperationID && op.Plan.Decode(&at) == nil {
			return at.Current != nil && at.Current.Do == "inspect-bmc" && at.Waiting == p.CommandID
		}
	}
	return false
}

func awaitInspection(r *run, _ task) (verdict, error) {
	r.wait(r.callbackTimeout())
	return stay, nil
}

// inspectionCame takes what the ramdisk found (Ironic: conductor/inspection.
// continue_inspection). What hooks and rules have changed stays when a later one
// fails.
func inspectionCame(r *run, _ task, e metal.InboxEntry) (verdict, error) {
	if e.Kind != metal.InboxInspection {
		return stay, nil
	}
	if err := metal.Fire(r.node, metal.EventResume, r.keepTarget(), r.Now); err != nil {
		return stay, err
	}
	var p metal.InspectionPayload
	if err := e.Payload.Decode(&p); err != nil {
		return stay, fmt.Errorf("read the inspection data: %w", err)
	}
	i := r.inspection(p.Inventory, p.PluginData)
	defer i.settle()
	if err := i.runHooks(r.Settings.InspectHooks); err != nil {
		return stay, told("Failed to finish inspection: " + hardwareFailure("failed to run inspection hooks: "+err.Error()))
	}
	if err := i.applyRules(); err != nil {
		return stay, told("Failed to finish inspection: " + err.Error())
	}
	i.store()
	return done, nil
}

// told is an error whose text is the user's as it is.
type told string

func (t told) Error() string { return string(t) }

// hardwareFailure is the text of Ironic's HardwareInspectionFailure.
func hardwareFailure(why string) string { return "Failed to inspect hardware. Reason: " + why }

func startInspectBMC(r *run, _ task) (verdict, error) { return r.bmc(metal.InspectHardware, nil, 0) }

// bmcInspected takes an out-of-band inspection (Ironic: RedfishInspect).
func bmcInspected(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var found metal.InspectResult
	if err := metal.JSON(res.ResultJSON).Decode(&found); err != nil {
		return stay, fmt.Errorf("read the inspection's result: %w", err)
	}
	for key, v := range found.Properties {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			r.node.Properties = r.node.Properties.With(key, n)
		} else if v != "" {
			r.node.Properties = r.node.Properties.With(key, v)
		}
	}
	if found.BootMode != "" {
		r.node.BootMode = &found.BootMode
	}
	i := r.inspection(metal.ToJSON(found.Inventory), metal.EmptyObject)
	defer i.settle()
	if err := i.runHooks(r.Settings.RedfishInspectHooks); err != nil {
		return stay, told(err.Error())
	}
	i.store() // before the rules: what they make of the plugin data is not kept
	if err := i.applyRules(); err != nil {
		return stay, told(err.Error())
	}
	var missing []string
	for _, key := range []string{"cpu_arch", "local_gb", "memory_mb"} {
		if _, ok := r.node.Properties.Object()[key]; !ok {
			missing = append(missing, key)
		}
	}
	if len(missing) > 0 {
		return stay, told(hardwareFailure(fmt.Sprintf("Failed to discover the following properties: %s on node %s", strings.Join(missing, ", "), r.node.UUID)))
	}
	return done, nil
}
