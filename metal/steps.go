package metal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// StepKind is the sort of work that steps make up.
type StepKind string

// The kinds of steps; also the names of the ramdisk's extensions.
const (
	CleanSteps   StepKind = "clean"
	DeploySteps  StepKind = "deploy"
	ServiceSteps StepKind = "service"
)

// Reserved steps are carried out by the conductor, on whichever interface they
// are asked for.
const (
	StepPowerOn  = "power_on"
	StepPowerOff = "power_off"
	StepReboot   = "reboot"
	StepHold     = "hold"
	StepWait     = "wait"
)

// Reserved reports whether the step is the conductor's own.
func (s Step) Reserved() bool {
	return slices.Contains([]string{StepPowerOn, StepPowerOff, StepReboot, StepHold, StepWait}, s.Step)
}

// CheckArgs refuses arguments that the step does not take, and the lack of
// those that it needs.
func (s Step) CheckArgs(args map[string]any) error {
	var unexpected, missing []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, known := s.ArgsInfo[name]; !known {
			unexpected = append(unexpected, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.ArgsInfo)) {
		info, _ := s.ArgsInfo[name].(map[string]any)
		if required, _ := info["required"].(bool); required && args[name] == nil {
			missing = append(missing, name)
		}
	}
	switch {
	case len(unexpected) > 0:
		return fmt.Errorf("step %s got the unexpected arguments: %s", s.Name(), strings.Join(unexpected, ", "))
	case len(missing) > 0:
		return fmt.Errorf("step %s misses the required arguments: %s", s.Name(), strings.Join(missing, ", "))
	}
	return nil
}

// Overridden applies the steps that a user or a template asks for to those that
// the driver offers: the same step takes the asked priority and arguments.
// What is asked for and not offered comes back as rest.
func Overridden(offered, asked []Step) (steps, rest []Step) {
	steps = slices.Clone(offered)
	for _, a := range asked {
		i := slices.IndexFunc(steps, func(s Step) bool { return s.Interface == a.Interface && s.Step == a.Step })
		switch {
		case i >= 0:
			steps[i].Priority, steps[i].Args = a.Priority, a.Args
		case a.Reserved():
			a.Abortable = true
			steps = append(steps, a)
		default:
			rest = append(rest, a)
		}
	}
	return steps, rest
}
