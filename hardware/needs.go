package hardware

import (
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
)

// Hosted is what the agents of a site can do, all together: operations by
// driver. Those that are the agents' own stand under "".
type Hosted map[string][]metal.Operation

// Add joins what another agent can do.
func (h Hosted) Add(operations map[string][]metal.Operation) {
	for driver, list := range operations {
		h[driver] = append(h[driver], list...)
	}
}

// has reports whether some agent can do op by the driver.
func (h Hosted) has(driver string, op metal.Operation) bool {
	if op.OfAgent() {
		driver = ""
	}
	return h == nil || slices.Contains(h[driver], op)
}

// lacks says what the implementation needs and no agent has; "" for nothing.
func (m Machine) lacks(row *Interface) string {
	return m.missing(fmt.Sprintf("the %s interface %s", row.Type, row.Name), row.Driver, row.Needs)
}

// missing says what of the operations no agent has.
func (m Machine) missing(what, driver string, needs []metal.Operation) string {
	var missing []string
	for _, op := range needs {
		if !m.Hosted.has(driver, op) {
			missing = append(missing, string(op))
		}
	}
	switch {
	case len(missing) == 0:
		return ""
	case driver == "":
		return fmt.Sprintf("%s needs %s", what, strings.Join(missing, ", "))
	}
	return fmt.Sprintf("%s needs %s (driver %s)", what, strings.Join(missing, ", "), driver)
}

// hostedOr is the refusal of what the site's agents cannot do; nil where they
// can do it all.
func (m Machine) hostedOr(lacks ...string) error {
	lacks = slices.DeleteFunc(lacks, func(s string) bool { return s == "" })
	if len(lacks) == 0 {
		return nil
	}
	return metal.Errorf(metal.Invalid, "No agent of the site %q can do this for node %s: %s. Bring the site's agents up to date, or choose other interfaces.",
		m.Node.ConductorGroup, m.Node.Label(), strings.Join(lacks, "; "))
}

// CheckHosted refuses a verb that needs an operation which no agent of the node's
// site has, and says all that is missing. asked are the steps of the request, or
// the configured priorities of an automated cleaning.
// Steps of the ramdisk's, steps of priority 0 and what a plan only tries do not
// count. A node can always be torn down as far as that goes.
func (m Machine) CheckHosted(v metal.VerbInfo, asked []metal.Step) error {
	if m.Hosted == nil {
		return nil
	}
	var lacks []string
	for _, t := range m.usedBy(v, asked) {
		lacks = append(lacks, m.lacks(m.Row(t)))
	}
	for _, s := range m.stepsOf(v, asked) {
		own, ok := m.Step(v.Steps, s)
		if !ok {
			continue
		}
		lacks = append(lacks, m.missing("step "+s.Name(), m.Row(metal.InterfaceType(s.Interface)).Driver, own.Needs))
	}
	return m.hostedOr(lacks...)
}

// usedBy are the interfaces that a verb uses, each once.
func (m Machine) usedBy(v metal.VerbInfo, asked []metal.Step) []metal.InterfaceType {
	used := slices.Concat(v.Validates, v.Uses)
	if m.bootsRamdisk(v, asked) {
		used = append(used, metal.PowerInterface, metal.BootInterface, metal.ManagementInterface)
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// bootsRamdisk reports whether the verb boots a ramdisk: that of an interface
// which works through one, or the one that carries out steps which nobody else
// does.
func (m Machine) bootsRamdisk(v metal.VerbInfo, asked []metal.Step) bool {
	if v.Ramdisk != "" {
		return m.Row(v.Ramdisk).Ramdisk
	}
	if v.AutomatedClean {
		return m.UsesRamdisk()
	}
	return v.Ordered && m.UsesRamdisk() && slices.ContainsFunc(asked, func(s metal.Step) bool {
		_, own := m.Step(v.Steps, s)
		return !own && !s.Reserved()
	})
}

// stepsOf are the steps of the node's own interfaces that a verb will run.
func (m Machine) stepsOf(v metal.VerbInfo, asked []metal.Step) []metal.Step {
	switch {
	case v.Ordered:
		return asked
	case v.Steps != metal.DeploySteps && !v.AutomatedClean:
		return nil
	}
	steps, _ := metal.Overridden(m.Steps(v.Steps), asked)
	return slices.DeleteFunc(steps, func(s metal.Step) bool { return s.Priority == 0 })
}
