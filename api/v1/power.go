package v1

import (
	"context"
	"net/http"
	"slices"

	"ferrule/metal"
	"ferrule/store"
)

// setPower asks for a power state; the work is done behind the answer.
func (s *Service) setPower(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	if err := kw.required("target"); err != nil {
		return err
	}
	target, err := kw.text("target")
	if err != nil {
		return err
	}
	timeout, err := kw.integer("timeout")
	if err != nil {
		return err
	}
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	if err := s.requireConductor(c.Request().Context(), &n, http.StatusNotFound); err != nil {
		return err
	}
	word := ""
	if target != nil {
		word = *target
	}
	if err := checkPower(c, &n, metal.PowerState(word), timeout); err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		return s.openPower(ctx, tx, c, n, metal.PowerState(word), timeout)
	})
	if err != nil {
		return err
	}
	c.location("nodes/" + c.Param("node") + "/states")
	return c.empty(http.StatusAccepted)
}

// checkPower is what Ironic's API checks before it calls a conductor.
func checkPower(c *call, n *metal.Node, target metal.PowerState, timeout *int) error {
	tooOld := c.version < c.op.Arg("target").Since[string(target)]
	if timeout != nil && *timeout != 0 {
		tooOld = tooOld || c.version < c.op.Arg("timeout").Min
	}
	if tooOld {
		return notAcceptable()
	}
	if timeout != nil && *timeout < 1 {
		return badRequest("timeout has to be positive integer")
	}
	if !slices.Contains([]metal.PowerState{metal.PowerOn, metal.PowerOff, metal.Rebooting, metal.SoftRebooting, metal.SoftPowerOff}, target) {
		state := ""
		if n.PowerState != nil {
			state = *n.PowerState
		}
		return invalidState(string(target), n, state)
	}
	return checkPowerNow(n, target)
}

// checkPowerNow is what may have changed since the node was first read.
func checkPowerNow(n *metal.Node, target metal.PowerState) error {
	if n.ProvisionState.Is(metal.CleanWait, metal.Cleaning) {
		return invalidState(string(target), n, string(n.ProvisionState))
	}
	if n.DisablePowerOff && (target == metal.PowerOff || target == metal.SoftPowerOff) {
		return conflict("Failed to set node power state to %s: powering off is disabled for node %s.", target, n.UUID)
	}
	return nil
}

// openPower records the wanted state and the work that leads to it, in one
// transaction.
func (s *Service) openPower(ctx context.Context, tx *store.Tx, c *call, n *metal.Node, target metal.PowerState, timeout *int) error {
	if err := checkPowerNow(n, target); err != nil {
		return err
	}
	if err := s.machine(n).Validate(metal.PowerInterface); err != nil {
		return err
	}
	if !slices.Contains(s.machine(n).Row(metal.PowerInterface).Power.Targets, target) {
		return badRequest("The driver %s does not support the power state, %s", n.Driver, target)
	}
	wanted := string(metal.PowerOff)
	switch target {
	case metal.PowerOn, metal.Rebooting, metal.SoftRebooting:
		wanted = string(metal.PowerOn)
	}
	n.TargetPowerState, n.LastError = &wanted, nil
	args := map[string]any{}
	if timeout != nil {
		args["timeout"] = *timeout
	}
	return s.open(ctx, tx, c, n, metal.OperationRecord{Axis: metal.AxisPower, Verb: string(target), Args: metal.ToJSON(args)})
}

// open writes the node, opens the operation and wakes the conductor: what the
// answer promises is committed before it is sent.
func (s *Service) open(ctx context.Context, tx *store.Tx, c *call, n *metal.Node, op metal.OperationRecord) error {
	op.NodeUUID = n.UUID
	if op.ID == "" {
		op.ID = newUUID()
	}
	op.RequestID = c.Response().Header().Get(headerRequestID)
	if who := c.rights.who; who.User != "" {
		op.User = &who.User
	}
	if op.Args == "" {
		op.Args = metal.EmptyObject
	}
	if op.Axis.Reserves(n.ProvisionState) {
		host := s.config.Default.Host
		n.Reservation = &host
	}
	if err := tx.UpdateNode(ctx, n); err != nil {
		return err
	}
	if err := tx.OpenOperation(ctx, &op); err != nil {
		return err
	}
	return tx.Post(ctx, n.UUID, metal.InboxVerb, metal.ToJSON(metal.VerbPayload{Verb: op.Verb, OperationID: op.ID}))
}
