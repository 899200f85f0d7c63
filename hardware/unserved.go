package hardware

import "ferrule/metal"

// unserved is a step, of priority 0 and without a ramdisk, whose operation no
// agent has yet. A verb that asks for it is refused where the site's agents are
// known; where none has joined, the step fails when it is reached.
func unserved(on metal.InterfaceType, name string, info map[string]any, needs metal.Operation) Step {
	return Step{
		Step:  metal.Step{Interface: string(on), Step: name, ArgsInfo: info},
		Kinds: []metal.StepKind{metal.CleanSteps, metal.DeploySteps, metal.ServiceSteps},
		Needs: []metal.Operation{needs},
		Tasks: func(_ Machine, s metal.Step) []Task { return []Task{refuse("step " + s.Name())} },
	}
}

// inRamdisk is the step as one that requires a ramdisk, in the given kinds of
// list.
func inRamdisk(s Step, kinds ...metal.StepKind) Step {
	s.RequiresRamdisk = true
	s.Kinds = kinds
	return s
}

// refuse is the task that fails with what cannot be carried out.
func refuse(what string) Task { return Task{Do: TaskRefuse, Args: metal.ToJSON(what)} }
