package hardware

import (
	"slices"
	"testing"

	"ferrule/metal"
)

// taskNeeds are the operations that the tasks which rows make come to.
var taskNeeds = map[string]metal.Operation{
	TaskReadPower: metal.PowerGet, TaskSetPower: metal.PowerSet, TaskSetBootDevice: metal.BootDeviceSet,
	TaskReadBootMode: metal.BootModeGet, TaskReadSecureBoot: metal.SecureBootGet, TaskReadFirmware: metal.FirmwareComponents,
	TaskReadMACs: metal.InspectMACs, TaskInspectBMC: metal.InspectHardware,
	TaskInsertMedia: metal.VirtualMediaInsert, TaskEjectMedia: metal.VirtualMediaEject,
	TaskPublishMedia: metal.MediaPublish, TaskRetractMedia: metal.MediaRetract,
	TaskCallRamdisk: metal.RamdiskCall, TaskRamdiskSteps: metal.RamdiskCall, TaskAgentStep: metal.RamdiskCall,
	TaskAgentPoll: metal.RamdiskCall, TaskFinalizeRescue: metal.RamdiskCall,
}

// TestPlansNeedWhatRowsSay: what the pieces of a row's plan cannot do without,
// some row of the node has among its needs.
func TestPlansNeedWhatRowsSay(t *testing.T) {
	for _, row := range sortedRows() {
		m := sample(row)
		var tasks []Task
		for _, p := range pieces(m, row) {
			tasks = append(tasks, p.tasks...)
		}
		for _, s := range row.Steps {
			if s.Tasks != nil {
				tasks = append(tasks, s.Tasks(m, s.Step)...)
			}
		}
		for _, task := range tasks {
			op, asks := taskNeeds[task.Do]
			if !asks || task.BestEffort {
				continue
			}
			if !slices.ContainsFunc(m.all(), func(r *Interface) bool { return slices.Contains(r.Needs, op) }) {
				t.Errorf("%s %s: the task %s needs %s, which no row of the node names", row.Type, row.Name, task.Do, op)
			}
		}
	}
}
