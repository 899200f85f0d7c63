package runner

import (
	"ferrule/hardware"
	"ferrule/metal"
)

// verbPlan is what the runner does for a verb. The rest of the verb is data, in
// its row in metal.
type verbPlan struct {
	begin    func(r *run) ([]task, error)
	cleanUp  func(r *run) []task // after a failure or an abort: best effort
	finished func(r *run)        // besides what every verb's end does
	ramdisk  func(m hardware.Machine) (hardware.Ramdisk, error)
}

// verbPlans has a row for each verb of metal.Verbs that begins an operation.
var verbPlans = map[metal.Verb]verbPlan{
	metal.VerbManage:   {begin: (*run).verifyTasks, finished: forgetPowerFailures},
	metal.VerbInspect:  {begin: (*run).inspectTasks, cleanUp: (*run).leaveInspection},
	metal.VerbProvide:  {begin: (*run).provideTasks, cleanUp: (*run).leaveCleaning},
	metal.VerbClean:    {begin: (*run).manualCleanTasks, cleanUp: (*run).leaveCleaning},
	metal.VerbDeleted:  {begin: (*run).deleteTasks, cleanUp: (*run).leaveCleaning},
	metal.VerbActive:   {begin: (*run).deployTasks, cleanUp: (*run).leaveDeployment},
	metal.VerbRebuild:  {begin: (*run).deployTasks, cleanUp: (*run).leaveDeployment},
	metal.VerbAdopt:    {begin: (*run).adoptTasks},
	metal.VerbRescue:   {begin: (*run).rescueTasks, cleanUp: (*run).leaveRescue, ramdisk: hardware.Machine.RescueRamdisk},
	metal.VerbUnrescue: {begin: (*run).unrescueTasks},
	metal.VerbService:  {begin: (*run).serviceTasks, cleanUp: (*run).leaveService},
}

// verbSignals has the others, which go to the operation that waits.
var verbSignals = map[metal.Verb]func(r *run) error{
	metal.VerbAbort:  (*run).abort,
	metal.VerbUnhold: (*run).unhold,
}

func (r *run) provideTasks() ([]task, error) { return r.automatedCleanTasks(), nil }

// verifyTasks see whether the BMC answers, and keep what it tells.
func (r *run) verifyTasks() ([]task, error) {
	tasks := []task{{Do: hardware.TaskReadPower}, task{Do: hardware.TaskReadBootMode}.Tried(), task{Do: hardware.TaskReadSecureBoot}.Tried()}
	return append(append(tasks, r.machine().Refresh()...), finishWith(metal.EventDone)), nil
}

func forgetPowerFailures(r *run) {
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.Without(metal.InfoPowerFailures)
}

// leaveDeployment: after an abort the machine keeps running, as in Ironic.
func (r *run) leaveDeployment() []task {
	if r.plan.Aborted {
		return hardware.AllTried(r.machine().LeaveMedia())
	}
	if r.plan.InStep && !r.Settings.PowerOffAfterDeployFailure {
		return nil
	}
	return r.leaveRamdisk()
}

// leaveCleaning: after a failed step the ramdisk stays up, so that somebody can
// look.
func (r *run) leaveCleaning() []task {
	if r.plan.InStep && !r.plan.Aborted && !r.Settings.PowerOffAfterCleanFailure {
		return nil
	}
	return r.leaveRamdisk()
}

func (r *run) leaveInspection() []task {
	if m := r.machine(); m.Row(metal.InspectInterface).Ramdisk {
		return m.LeaveRamdisk()
	}
	return nil
}

func (r *run) leaveRamdisk() []task {
	if m := r.machine(); m.UsesRamdisk() {
		return m.LeaveRamdisk()
	}
	return nil
}
