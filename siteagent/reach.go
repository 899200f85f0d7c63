package siteagent

import (
	"context"

	"ferrule/drivers"
	"ferrule/metal"
	"ferrule/siteagent/reach"
)

// openReach makes the guard of what the agent connects to.
func (a *Agent) openReach() (err error) {
	o := a.options.Reach
	o.Dir, o.Own, o.Log = a.options.DataDir, a.listener.Addr(), a.log
	a.reach, err = reach.New(o)
	return err
}

// noting are drivers that tell the guard which addresses are those of BMCs. An
// address counts once a BMC has answered there, so that nobody can close that
// of an image server by naming it as a node's BMC.
type noting struct {
	Drivers
	reach *reach.Guard
}

func (n noting) Execute(ctx context.Context, req metal.Request, creds drivers.Credentials) metal.CommandResult {
	result := n.Drivers.Execute(ctx, req, creds)
	n.note(ctx, req, result)
	return result
}

func (n noting) Rotate(ctx context.Context, req metal.Request, current, next drivers.Credentials) metal.CommandResult {
	result := n.Drivers.Rotate(ctx, req, current, next)
	n.note(ctx, req, result)
	return result
}

func (n noting) note(ctx context.Context, req metal.Request, result metal.CommandResult) {
	if result.OK {
		n.reach.Drives(ctx, req.Address)
	}
}
