package redfish

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stmcginnis/gofish/redfish"

	"ferrule/drivers/driver"
	"ferrule/failpoint"
	"ferrule/metal"
)

// Limits of the times in SetPowerArgs.
const (
	defaultPowerTimeout = 60
	maxPowerTimeout     = 3600
)

// GetPower reads the power state.
func (d *Driver) GetPower(ctx context.Context, t driver.Target) (metal.PowerResult, error) {
	return call(ctx, d, t, func(c *client) (metal.PowerResult, error) {
		system, err := c.system()
		if err != nil {
			return metal.PowerResult{}, err
		}
		return metal.PowerResult{State: powerState(system), Health: health(system)}, nil
	})
}

// SetPower brings the machine to the state asked for and waits until the BMC
// shows it.
func (d *Driver) SetPower(ctx context.Context, t driver.Target, a metal.SetPowerArgs) (metal.PowerResult, error) {
	seconds := a.TimeoutSeconds
	if seconds == 0 {
		seconds = defaultPowerTimeout
	}
	for name, given := range map[string]int{"timeoutSeconds": seconds, "settleSeconds": a.SettleSeconds} {
		if given < 0 || given > maxPowerTimeout {
			return metal.PowerResult{}, driver.Errorf(metal.CodeInvalidArgs, "%s %d is not between 0 and %d", name, given, maxPowerTimeout)
		}
	}
	change, ok := powerChanges[a.Target]
	if !ok {
		return metal.PowerResult{}, driver.Errorf(metal.CodeInvalidArgs, "power target %q is none of power on, power off, soft power off; a reboot is off, then on", a.Target)
	}
	settle := time.Duration(a.SettleSeconds) * time.Second
	return call(ctx, d, t, func(c *client) (metal.PowerResult, error) {
		if settle > 0 && c.awaitPower(change, settle, settle) == nil {
			return metal.PowerResult{State: change.state}, nil
		}
		return c.setPower(change, time.Duration(seconds)*time.Second)
	})
}

// powerChange is how a target is reached.
type powerChange struct {
	wanted redfish.PowerState  // shown when it is reached
	moving redfish.PowerState  // shown on the way there
	resets []redfish.ResetType // that lead there, the first that the BMC has
	state  metal.PowerState
}

var powerChanges = map[metal.PowerState]powerChange{
	metal.PowerOn: {
		redfish.OnPowerState, redfish.PoweringOnPowerState,
		[]redfish.ResetType{redfish.OnResetType, redfish.ForceOnResetType}, metal.PowerOn,
	},
	// A machine that is shutting down by itself may never end: off is forced.
	metal.PowerOff: {
		redfish.OffPowerState, "",
		[]redfish.ResetType{redfish.ForceOffResetType}, metal.PowerOff,
	},
	metal.SoftPowerOff: {
		redfish.OffPowerState, redfish.PoweringOffPowerState,
		[]redfish.ResetType{redfish.GracefulShutdownResetType}, metal.PowerOff,
	},
}

// powerState is what the document shows; anything unexpected is unknown.
func powerState(system document) metal.PowerState {
	switch redfish.PowerState(system.text("PowerState")) {
	case redfish.OnPowerState, redfish.PoweringOnPowerState:
		return metal.PowerOn
	case redfish.OffPowerState, redfish.PoweringOffPowerState:
		return metal.PowerOff
	}
	return metal.PowerUnknown
}

// health is that of the system itself, which sums up its parts.
func health(system document) metal.Health {
	switch h := metal.Health(system.child("Status").text("Health")); h {
	case metal.HealthOK, metal.HealthWarning, metal.HealthCritical:
		return h
	}
	return ""
}

func (c *client) setPower(change powerChange, limit time.Duration) (metal.PowerResult, error) {
	began := time.Now()
	system, err := c.system()
	if err != nil {
		return metal.PowerResult{}, err
	}
	now := redfish.PowerState(system.text("PowerState"))
	switch {
	case now == change.wanted:
		return metal.PowerResult{State: change.state}, nil
	case powerState(system) == metal.PowerUnknown:
		return metal.PowerResult{}, driver.Errorf(metal.CodeBMCError, "BMC %s does not tell the power state of %s (PowerState is %q); nothing is done on a guess", c.access.address, system.path, now)
	}
	if now == redfish.PoweringOffPowerState && change.state == metal.PowerOn {
		if err := c.awaitPower(powerChanges[metal.PowerOff], limit, time.Until(began.Add(limit))); err != nil {
			return metal.PowerResult{}, err
		}
	}
	var lost error
	changed := now != change.moving
	if changed {
		changed, err = c.reset(system, change, began.Add(limit))
		if driver.CodeOf(err) == metal.CodeOutcomeUnknown {
			changed, lost = true, err
		} else if err != nil {
			return metal.PowerResult{}, err
		}
	}
	if err := c.awaitPower(change, limit, time.Until(began.Add(limit))); err != nil {
		return metal.PowerResult{}, cmp.Or(lost, err)
	}
	return metal.PowerResult{State: change.state, Changed: changed}, nil
}

// reset sends the action. Whether it counts is decided by the state that the
// BMC shows afterwards: a BMC may refuse a reset to the state that it has.
func (c *client) reset(system document, change powerChange, end time.Time) (changed bool, err error) {
	kind, err := c.resetType(system, change.resets)
	if err != nil {
		return false, err
	}
	for {
		err := c.postReset(system, kind)
		failpoint.Hit("redfish-reset-sent")
		if err == nil {
			return true, nil
		}
		var r *refusal
		conflict := errors.As(err, &r) && (r.status == http.StatusConflict || r.status == http.StatusBadRequest)
		if !conflict {
			return false, err
		}
		now, lookErr := c.system()
		if lookErr != nil {
			return false, err
		}
		shown := redfish.PowerState(now.text("PowerState"))
		if shown == change.wanted || (change.moving != "" && shown == change.moving) {
			return false, nil
		}
		// Some BMCs refuse On for a while after a power-off.
		settling := change.state == metal.PowerOn && r.is("ActionParameterValueConflict")
		if !settling || time.Until(end) < c.transport.pace.conflictEvery {
			return false, err
		}
		if err := c.pause(c.transport.pace.conflictEvery); err != nil {
			return false, err
		}
	}
}

func (c *client) postReset(system document, kind redfish.ResetType) error {
	target, _ := action(system, "ComputerSystem.Reset")
	if target == "" {
		target = system.path + "/Actions/ComputerSystem.Reset"
	}
	path, err := c.localPath(target)
	if err != nil {
		return err
	}
	return c.post(path, map[string]any{"ResetType": kind})
}

// resetType picks the first of kinds that the BMC has. The list is inline or
// in the action's ActionInfo; a BMC with neither gets the first.
func (c *client) resetType(system document, kinds []redfish.ResetType) (redfish.ResetType, error) {
	if !c.findings.resetKnown {
		c.findings.resetTypes, c.findings.resetKnown = c.allowedResets(system)
	}
	allowed := c.findings.resetTypes
	if len(allowed) == 0 {
		return kinds[0], nil
	}
	for _, k := range kinds {
		if slices.Contains(allowed, string(k)) {
			return k, nil
		}
	}
	return "", driver.Errorf(metal.CodeUnsupported, "BMC %s: %s has no reset type %s; it has %s", c.access.address, system.path, kinds[0], strings.Join(allowed, ", "))
}

func (c *client) allowedResets(system document) (list []string, known bool) {
	_, details := action(system, "ComputerSystem.Reset")
	if inline := details.texts("ResetType@Redfish.AllowableValues"); len(inline) > 0 {
		return inline, true
	}
	info := details.text("@Redfish.ActionInfo")
	if info == "" {
		return nil, true
	}
	path, err := c.localPath(info)
	if err != nil {
		return nil, true
	}
	doc, err := c.get(path)
	if err != nil {
		c.log.Debug("the BMC's list of reset types cannot be read", "path", path, "error", err)
		return nil, false
	}
	for _, p := range doc.children("Parameters") {
		if p.text("Name") == "ResetType" {
			return p.texts("AllowableValues"), true
		}
	}
	return nil, true
}

// awaitPower looks until the state is there. A BMC that does not answer for a
// moment is asked again.
func (c *client) awaitPower(change powerChange, limit, left time.Duration) error {
	var shown string
	var last error
	err := c.poll(left, func() (bool, error) {
		system, err := c.system()
		switch code := driver.CodeOf(err); {
		case err == nil:
			shown, last = system.text("PowerState"), nil
			return redfish.PowerState(shown) == change.wanted, nil
		case code == metal.CodeUnreachable || code == metal.CodeBMCError:
			last = err
			return false, nil
		}
		return false, err
	})
	switch {
	case err == nil:
		return nil
	case last != nil:
		return last
	case errors.Is(err, errPending):
		return driver.Errorf(metal.CodeBMCError, "BMC %s did not show power state %s within %s; PowerState is %q", c.access.address, change.wanted, limit, shown)
	}
	return driver.Errorf(metal.CodeOutcomeUnknown, "BMC %s: the command's time was over before power state %s was shown; PowerState was %q", c.access.address, change.wanted, shown)
}

// InjectNMI sends a non-maskable interrupt.
func (d *Driver) InjectNMI(ctx context.Context, t driver.Target) error {
	return d.with(ctx, t, func(c *client) error {
		system, err := c.system()
		if err != nil {
			return err
		}
		kind, err := c.resetType(system, []redfish.ResetType{redfish.NmiResetType})
		if err != nil {
			return err
		}
		return c.postReset(system, kind)
	})
}
