package hardware

import (
	"slices"
	"strings"
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

// TestAVerbSaysAllThatIsMissing: per interface and per step. What the ramdisk
// carries out, what is of priority 0, and the conductor's own steps do not count.
func TestAVerbSaysAllThatIsMissing(t *testing.T) {
	step := func(name string, priority int) Step {
		return Step{
			Step:  metal.Step{Interface: "raid", Step: name, Priority: priority},
			Kinds: []metal.StepKind{metal.CleanSteps, metal.DeploySteps}, Needs: []metal.Operation{metal.RAIDApply},
		}
	}
	m := sample(&redfishPower)
	raid := &Interface{Type: metal.RAIDInterface, Name: "out-of-band", Driver: "redfish", Steps: []Step{step("build", 50), step("clear", 0)}}
	m.rows[rowKey{raid.Type, raid.Name}] = raid
	m.Node.RAIDInterface, m.Node.DeployInterface = raid.Name, "direct"
	m.Hosted = Hosted{}
	for _, row := range m.all() {
		m.Hosted.Add(map[string][]metal.Operation{row.Driver: row.Needs, "": row.Needs})
	}
	for name, c := range map[string]struct {
		verb  metal.Verb
		asked []metal.Step
		lacks string
	}{
		"priority above 0":  {metal.VerbActive, nil, "step raid.build needs raid.applyLayout (driver redfish)"},
		"priority set to 0": {metal.VerbActive, []metal.Step{{Interface: "raid", Step: "build"}}, ""},
		"priority raised": {metal.VerbActive, []metal.Step{{Interface: "raid", Step: "build"}, {Interface: "raid", Step: "clear", Priority: 1}},
			"step raid.clear needs raid.applyLayout (driver redfish)"},
		"asked for": {metal.VerbClean, []metal.Step{{Interface: "raid", Step: "clear"}, {Interface: "raid", Step: "build"}},
			"step raid.clear needs raid.applyLayout (driver redfish); step raid.build needs raid.applyLayout (driver redfish)"},
		"of the ramdisk":   {metal.VerbClean, []metal.Step{{Interface: "deploy", Step: "erase_devices"}}, ""},
		"of the conductor": {metal.VerbClean, []metal.Step{{Interface: "raid", Step: metal.StepHold}}, ""},
		"automatic":        {metal.VerbProvide, nil, "step raid.build needs raid.applyLayout (driver redfish)"},
		"configured away":  {metal.VerbProvide, []metal.Step{{Interface: "raid", Step: "build"}}, ""},
	} {
		info, _ := c.verb.Info()
		text := ""
		if err := m.CheckHosted(info, c.asked); err != nil {
			text = err.Error()
		}
		if (text == "") != (c.lacks == "") || !strings.Contains(text, c.lacks) {
			t.Errorf("%s: %q does not say %q", name, text, c.lacks)
		}
	}
	m.Hosted = nil
	if info, _ := metal.VerbActive.Info(); m.CheckHosted(info, nil) != nil {
		t.Error("where nothing is known of agents, a verb is refused")
	}
}
