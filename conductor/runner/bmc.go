package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

var bmcActions = map[string]action{
	hardware.TaskReadPower:     {start: readPower, result: powerRead},
	hardware.TaskReadBootMode:  {start: readModes, result: modeRead},
	hardware.TaskSetPower:      {start: startPower, result: powerSet},
	hardware.TaskSetBootDevice: {start: startBootDevice},
	hardware.TaskInsertMedia:   {start: startInsert},
	hardware.TaskEjectMedia:    {start: startEject},
	hardware.TaskReadMACs:      {start: startMACs, result: macsRead},
}

// isBMC reports whether the task talks to the node's BMC.
func isBMC(t task) bool {
	_, ok := bmcActions[t.Do]
	return ok
}

// bmc issues an operation of the node's BMC.
func (r *run) bmc(op metal.Operation, args any, extra time.Duration) (verdict, error) {
	if r.plan.DeadBMC {
		return stay, errors.New("the BMC did not answer before")
	}
	req, err := r.machine().Request(op)
	if err != nil {
		return stay, err
	}
	return r.command(req, args, extra)
}

func readPower(r *run, _ task) (verdict, error) { return r.bmc(metal.PowerGet, nil, 0) }

func powerRead(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var p metal.PowerResult
	if err := metal.JSON(res.ResultJSON).Decode(&p); err != nil {
		return stay, fmt.Errorf("read the power state: %w", err)
	}
	if p.State == metal.PowerUnknown && r.AgentID != metal.LocalAgent {
		return stay, errors.New("the BMC gives no power state; see whether the machine's firmware is healthy")
	}
	r.setPowerState(p.State)
	return done, nil
}

func (r *run) setPowerState(s metal.PowerState) {
	if s == metal.PowerUnknown {
		r.node.PowerState = nil
		return
	}
	text := string(s)
	r.node.PowerState = &text
}

// readModes caches the boot mode; a BMC that has none costs nothing.
func readModes(r *run, _ task) (verdict, error) {
	if r.AgentID == metal.LocalAgent {
		return done, nil
	}
	return r.bmc(metal.BootModeGet, nil, 0)
}

func modeRead(r *run, _ task, res metal.CommandResult) (verdict, error) {
	var m metal.BootModeArgs
	if res.OK && metal.JSON(res.ResultJSON).Decode(&m) == nil && m.Mode != "" {
		r.node.BootMode = &m.Mode
	}
	return done, nil
}

func powerArgs(t task) metal.SetPowerArgs {
	var args metal.SetPowerArgs
	_ = t.Args.Decode(&args)
	return args
}

func startPower(r *run, t task) (verdict, error) {
	args := powerArgs(t)
	if args.TimeoutSeconds == 0 {
		args.TimeoutSeconds = int(r.Settings.PowerTimeout.Seconds())
	}
	if r.op.Axis == metal.AxisProvision && r.node.DisablePowerOff && args.Target != metal.PowerOn {
		return done, nil
	}
	if t.Repeats > 0 {
		args.SettleSeconds = settleSeconds
		if args.Target == metal.SoftPowerOff {
			args.SettleSeconds = args.TimeoutSeconds // the system takes its time
		}
	}
	return r.bmc(metal.PowerSet, args, time.Duration(args.TimeoutSeconds+args.SettleSeconds)*time.Second)
}

// settleSeconds is how long an action of which nobody knows whether it was sent
// has to show itself at the BMC, before it is sent.
const settleSeconds = 10

// powerSet takes what came of a power action.
func powerSet(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var p metal.PowerResult
	if err := metal.JSON(res.ResultJSON).Decode(&p); err != nil {
		return stay, fmt.Errorf("read the power state: %w", err)
	}
	r.setPowerState(p.State)
	return done, nil
}

func startBootDevice(r *run, t task) (verdict, error) {
	var args metal.BootDeviceArgs
	_ = t.Args.Decode(&args)
	if !r.machine().Row(metal.ManagementInterface).Management.SetsBootDevice {
		return done, nil
	}
	return r.bmc(metal.BootDeviceSet, args, 0)
}

func startInsert(r *run, _ task) (verdict, error) {
	return r.bmc(metal.VirtualMediaInsert, metal.InsertMediaArgs{Device: "cdrom", ImageURL: r.plan.URL}, 2*time.Minute)
}

func startEject(r *run, _ task) (verdict, error) {
	return r.bmc(metal.VirtualMediaEject, metal.EjectMediaArgs{}, 0)
}

func startMACs(r *run, _ task) (verdict, error) {
	if r.AgentID == metal.LocalAgent {
		return done, nil
	}
	return r.bmc(metal.InspectMACs, nil, 0)
}

// macsRead makes ports of the NICs that the BMC knows, so that a ramdisk can
// be told from others by them.
func macsRead(r *run, _ task, res metal.CommandResult) (verdict, error) {
	var m metal.MACsResult
	if !res.OK || metal.JSON(res.ResultJSON).Decode(&m) != nil {
		return done, nil
	}
	for _, mac := range m.MACs {
		mac = strings.ToLower(mac)
		known := append(slices.Clone(r.Ports), r.out.CreatePorts...)
		if !slices.ContainsFunc(known, func(p metal.Port) bool { return p.Address == mac }) {
			r.out.CreatePorts = append(r.out.CreatePorts, r.newPort(mac, true))
		}
	}
	return done, nil
}
