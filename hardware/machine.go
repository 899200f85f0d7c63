package hardware

import (
	"slices"

	"ferrule/metal"
)

// Machine is a node with the rows of its interfaces: what there is to know of
// its hardware, and the pieces of plan for it.
type Machine struct {
	Node     *metal.Node
	Ports    []metal.Port // where the caller has them
	Hosted   Hosted       // what the agents of its site can do; nil: all
	rows     map[rowKey]*Interface
	settings *ValidationSettings
}

// Machine joins the node with the rows that its fields name.
func (c *Catalogue) Machine(n *metal.Node) Machine {
	return Machine{Node: n, rows: c.rows, settings: &c.settings}
}

// Row is the node's implementation of t. One that is not built in is a row that
// can nothing, so that a node which names it can still be read and changed.
func (m Machine) Row(t metal.InterfaceType) *Interface {
	name := m.Node.Interface(t)
	if row := m.rows[rowKey{t, name}]; row != nil {
		return row
	}
	return &Interface{Type: t, Name: name, Absent: true, Validate: notBuiltIn(t, name)}
}

func notBuiltIn(t metal.InterfaceType, name string) func(Machine) error {
	return func(m Machine) error {
		return metal.Errorf(metal.Invalid, "The %s interface %q of node %s is not built in.", t, name, m.Node.Label())
	}
}

// all are the node's rows, those first that are asked first for an operation
// of a concern that is no interface's name.
func (m Machine) all() []*Interface {
	all := []*Interface{m.Row(metal.ManagementInterface), m.Row(metal.BootInterface), m.Row(metal.PowerInterface)}
	for _, t := range metal.InterfaceTypes() {
		if t != metal.ManagementInterface && t != metal.BootInterface && t != metal.PowerInterface {
			all = append(all, m.Row(t))
		}
	}
	return all
}

// owner is the row whose operation op is: that of the concern's own interface,
// else the first that has it.
func (m Machine) owner(op metal.Operation) *Interface {
	if own := m.Row(metal.InterfaceType(op.Concern())); own.Does(op) {
		return own
	}
	rows := m.all()
	if i := slices.IndexFunc(rows, func(r *Interface) bool { return r.Does(op) }); i >= 0 {
		return rows[i]
	}
	return nil
}

// Request is the part of a request for op that says which BMC and how: driver,
// address, credentials, pin and options.
func (m Machine) Request(op metal.Operation) (metal.Request, error) {
	row := m.owner(op)
	if row == nil || row.Request == nil {
		return metal.Request{}, Unsupported(m.Node, nameOf(op))
	}
	r, err := row.Request(m.Node)
	r.Driver, r.Operation = row.Driver, op
	if err != nil {
		return r, err
	}
	return r, r.CheckSecrets(m.Node.UUID)
}

// Unsupported is the refusal of an interface that is switched off or that
// lacks what is asked of it (Ironic: UnsupportedDriverExtension, 400).
func Unsupported(n *metal.Node, what string) *metal.Error {
	return metal.Errorf(metal.Invalid, "Driver %s does not support %s (disabled or not implemented).", n.Driver, what)
}

// Validate checks what the node's implementation of t needs before it can
// work, as GET /v1/nodes/{node}/validate shows it. nil is valid.
func (m Machine) Validate(t metal.InterfaceType) error {
	row := m.Row(t)
	switch {
	case row.Validate != nil:
		if err := row.Validate(m); err != nil {
			return err
		}
	case row.Absent:
		return Unsupported(m.Node, string(t))
	}
	return m.hostedOr(m.lacks(row))
}

// reachable checks that a request can be made by the row.
func reachable(request func(n *metal.Node) (metal.Request, error)) func(m Machine) error {
	return func(m Machine) error {
		_, err := request(m.Node)
		return err
	}
}

// Manages refuses an operation that the node's management interface does not
// have.
func (m Machine) Manages(op metal.Operation) error {
	if m.Row(metal.ManagementInterface).Does(op) {
		return nil
	}
	return Unsupported(m.Node, nameOf(op))
}

// nameOf is Ironic's name of an operation.
func nameOf(op metal.Operation) string {
	if name := operationNames[op]; name != "" {
		return name
	}
	return string(op)
}

var operationNames = map[metal.Operation]string{
	metal.BootModeSet: "set_boot_mode", metal.SecureBootSet: "set_secure_boot_state", metal.NMIInject: "inject_nmi",
	metal.IndicatorsGet: "get_supported_indicators", metal.IndicatorSet: "set_indicator_state",
	metal.VirtualMediaStatus: "get_virtual_media", metal.VirtualMediaInsert: "attach_virtual_media", metal.VirtualMediaEject: "detach_virtual_media",
}

// Steps are the steps of a kind that the node's own interfaces offer.
func (m Machine) Steps(kind metal.StepKind) []metal.Step {
	var steps []metal.Step
	for _, t := range stepOrder {
		for _, s := range m.Row(t).Steps {
			if slices.Contains(s.Kinds, kind) {
				step := s.Step
				step.Abortable = kind == metal.DeploySteps // Ironic: the default of each decorator
				steps = append(steps, step)
			}
		}
	}
	return steps
}

// stepOrder is the order in which the interfaces' steps are listed.
var stepOrder = []metal.InterfaceType{
	metal.DeployInterface, metal.VendorInterface, metal.BIOSInterface, metal.FirmwareInterface,
	metal.PowerInterface, metal.ManagementInterface, metal.RAIDInterface,
}

// Step is the row of a step that one of the node's own interfaces carries out.
func (m Machine) Step(kind metal.StepKind, s metal.Step) (Step, bool) {
	t := metal.InterfaceType(s.Interface)
	if !slices.Contains(stepOrder, t) {
		return Step{}, false
	}
	return m.Row(t).step(kind, s.Step)
}

// UsesRamdisk reports whether the node is deployed, cleaned and served through a
// ramdisk.
func (m Machine) UsesRamdisk() bool { return m.Row(metal.DeployInterface).Ramdisk }
