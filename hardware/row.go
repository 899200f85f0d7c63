package hardware

import (
	"slices"

	"ferrule/metal"
)

// Interface is the row of one implementation of one interface: all that the
// control plane knows of it. Fields that do not apply are zero.
type Interface struct {
	Type metal.InterfaceType
	Name string

	// Absent stands for a node that lacks the interface (no-raid and the like):
	// every use is refused.
	Absent bool
	// Ramdisk: it works through a ramdisk, which has to be booted for it, and
	// leaves the steps of its interface to that.
	Ramdisk bool
	// Unserved: no agent can carry it out yet. It is a default only where the
	// configuration names it, or enables nothing else.
	Unserved bool

	Driver       string            // folder under drivers/ that carries its operations out
	Properties   []Property        // its driver_info keys
	Needs        []metal.Operation // without these it cannot work
	Offers       []metal.Operation // these it does besides, where the driver can
	Capabilities []string          // Ironic's names of what it is capable of
	Steps        []Step            // those that it carries out itself

	// Validate checks a node before the interface is used; nil: nothing to check.
	Validate func(m Machine) error
	// Request makes the part of a request that says which BMC and how: address,
	// reference to the credentials, pin and options. nil: it has no driver.
	Request func(n *metal.Node) (metal.Request, error)
	// Refresh reads again what a verification, a cleaning or an inspection may
	// have changed.
	Refresh []Task

	// What only implementations of one interface have.
	Power      Power
	Management Management
	Boot       Boot
	Deploy     Deploy
	Inspect    Inspect
	Rescue     Rescue
	Console    Console
	Network    Network
	RAID       RAID
	Vendor     Vendor
}

// Property is a key of driver_info.
type Property struct {
	Key      string
	Help     string
	Required bool
	Secret   bool // its value is sealed and never shown
}

// Step is a step that an implementation carries out itself (Ironic: the
// clean_step, deploy_step and service_step decorators). One that requires a
// ramdisk is refused where the request forbids one.
type Step struct {
	metal.Step
	Kinds []metal.StepKind
	Needs []metal.Operation
	// Tasks are what the step consists of; nil: it is done as soon as it is begun.
	Tasks func(m Machine, s metal.Step) []Task
	// Args are the arguments that the ramdisk gets, where they are not those of
	// the request.
	Args        func(m Machine) (map[string]any, error)
	ConfigDrive bool // the ramdisk gets the instance's config drive too
}

// Power is what a power interface has.
type Power struct {
	Targets []metal.PowerState // that may be asked for
}

// Management is what a management interface has.
type Management struct {
	BootDevices []string // that may be asked for
	// Fixed is the boot device that it tells without asking anybody; setting one
	// does nothing.
	Fixed *metal.BootDeviceArgs
	// SetsBootDevice: plans set the boot device. Machines of the others start as
	// they are set up.
	SetsBootDevice bool
	TellsHealth    bool // what the power watch sees of the machine's health counts
	KnowsBMC       bool // the ramdisk need not look for the BMC's address
}

// Boot is what a boot interface has: how a machine starts a ramdisk.
type Boot struct {
	// Inspects: it can boot the ramdisk of an inspection by itself (Ironic: a
	// managed inspection).
	Inspects bool
	Prepare  func(params []string) []Task // before the machine is powered on into the ramdisk
	Again    func() []Task                // likewise, into the one that it has run already
	Leave    func() []Task                // after the ramdisk
}

// Deploy is what a deploy interface has besides its steps.
type Deploy struct {
	Prepare  func(n *metal.Node)    // notes on the node what is to be deployed
	Adopt    func(n *metal.Node)    // likewise, for an instance that is there
	Begin    []Task                 // before the first step
	TearDown func(m Machine) []Task // takes the instance's machine down
}

// Inspect is what an inspect interface has.
type Inspect struct {
	Tasks func(m Machine, o Inspection) []Task // nil: nothing is looked at
}

// Inspection is what the configuration says of inspections.
type Inspection struct {
	CreatePorts  bool     // make ports of the NICs that the BMC knows first
	KernelParams []string // on the ramdisk's kernel line
	PowerOff     bool     // afterwards
}

// Rescue is what a rescue interface has.
type Rescue struct {
	Begin func(m Machine) []Task
	End   func(m Machine) []Task
	// CleanUp follows a rescue that failed or was aborted.
	CleanUp func(m Machine, aborted bool) []Task
}

// Console is what a console interface has.
type Console struct {
	Start, Stop []Task
}

// Network is what a network interface has.
type Network struct {
	// ChecksPorts: it needs PXE-enabled ports to fit their port groups.
	ChecksPorts bool
}

// RAID is what a RAID interface has.
type RAID struct {
	LogicalDisks map[string]string                 // the keys of a logical disk, described
	Check        func(config map[string]any) error // of a target configuration
}

// Vendor is what a vendor interface has.
type Vendor struct {
	Methods map[string]VendorMethod
}

// Does reports whether the implementation has the operation.
func (i *Interface) Does(op metal.Operation) bool {
	return slices.Contains(i.Needs, op) || slices.Contains(i.Offers, op)
}

// step finds a step of the implementation's own.
func (i *Interface) step(kind metal.StepKind, name string) (Step, bool) {
	for _, s := range i.Steps {
		if s.Step.Step == name && slices.Contains(s.Kinds, kind) {
			return s, true
		}
	}
	return Step{}, false
}
