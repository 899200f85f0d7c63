package v1

import (
	"context"
	"fmt"
	"net/http"

	"ferrule/failpoint"
	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// setProvision fires a provision verb.
func (s *Service) setProvision(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	p, err := parseProvision(c.op, kw)
	if err != nil {
		return err
	}
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	if err := c.authorizeSteps(&n, p); err != nil {
		return err
	}
	limits := stepLimits{
		clean: s.config.API.DisallowCleanSteps, deploy: s.config.API.DisallowDeploySteps, service: s.config.API.DisallowServiceSteps,
	}
	ctx := c.Request().Context()
	p.findRunbook = s.runbookFinder(ctx, c)
	if err := p.check(&n, c.version, limits); err != nil {
		return err
	}
	if err := s.requireConductor(ctx, &n, http.StatusNotFound); err != nil {
		return err
	}
	err = s.changeNode(ctx, n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		v := &verb{service: s, call: c, tx: tx, request: p, node: n}
		return v.run(ctx)
	})
	if err != nil {
		return err
	}
	failpoint.Hit("api-verb-committed")
	c.location("nodes/" + c.Param("node") + "/states")
	return c.empty(http.StatusAccepted)
}

// verb is one provision verb on its way, in one transaction.
type verb struct {
	service *Service
	call    *call
	tx      *store.Tx
	request *provisionRequest
	node    *metal.Node
}

func (v *verb) run(ctx context.Context) error {
	if err := v.check(ctx); err != nil {
		return err
	}
	if v.request.verb.Signals {
		return v.signal(ctx)
	}
	return v.begin(ctx)
}

// check is what Ironic's conductor checks under the lock.
func (v *verb) check(ctx context.Context) error {
	n, info := v.node, v.request.verb
	if n.Protected && info.NotProtected {
		return faultf(http.StatusForbidden, "Node %s is protected and can not be undeployed, rebuilt or deleted.", n.UUID)
	}
	if n.Maintenance && info.NotMaintenance {
		return inMaintenance(n, string(info.Verb))
	}
	if info.Verb == metal.VerbProvide && n.Maintenance && !v.service.config.Conductor.AllowProvisioningInMaintenance {
		return inMaintenance(n, string(info.Verb))
	}
	if n.Retired && info.NotRetired {
		return badRequest("The %s operation can't be performed on node %s because it is retired.", info.Verb, n.UUID)
	}
	if _, ok := metal.VerbTransition(n.ProvisionState, info.Verb); !ok {
		return invalidState(v.request.target, n, string(n.ProvisionState))
	}
	if info.Verb == metal.VerbAbort && n.ProvisionState == metal.InspectWait && !v.service.machine(n).Row(metal.InspectInterface).Ramdisk {
		return hardware.Unsupported(n, "abort")
	}
	if info.Verb == metal.VerbAbort && n.Maintenance && n.ProvisionState == metal.ServiceFailed {
		return conflict("Node %s is in maintenance: the failed service can not be aborted.", n.UUID)
	}
	if err := v.checkRoom(ctx); err != nil {
		return err
	}
	return v.validate(ctx)
}

// checkRoom refuses work beyond the configured number of nodes at a time.
func (v *verb) checkRoom(ctx context.Context) error {
	conf := v.service.config.Conductor
	bound := v.request.verb.Limit
	limit := map[string]int{
		metal.LimitDeploy.Of: conf.MaxConcurrentDeploy, metal.LimitClean.Of: conf.MaxConcurrentClean,
	}[bound.Of]
	if limit <= 0 {
		return nil
	}
	counts, err := v.tx.NodeCounts(ctx)
	if conf.MaxConcurrentPerConductorGroup {
		counts, err = v.tx.NodeCountsIn(ctx, v.node.ConductorGroup)
	}
	if err != nil {
		return err
	}
	var now int64
	for _, s := range bound.Busy {
		now += counts[s]
	}
	if now >= int64(limit) {
		return faultf(http.StatusServiceUnavailable, "The limit of %d concurrent %s is reached; retry when some have ended.", limit, bound.Of)
	}
	return nil
}

// validate checks the interfaces that the verb needs, before anything changes.
func (v *verb) validate(ctx context.Context) error {
	info := v.request.verb
	if len(info.Validates) == 0 {
		return nil
	}
	ports, err := v.tx.PortsOf(ctx, v.node.UUID)
	if err != nil {
		return err
	}
	m := v.service.machine(v.node)
	m.Ports = ports
	for _, t := range info.Validates {
		if err := m.Validate(t); err != nil {
			return badRequest(info.Invalid, v.node.UUID, asFault(err).Text)
		}
	}
	if info.Steps == metal.DeploySteps {
		return v.checkDeployment()
	}
	return nil
}

// begin fires the verb's event and, where work follows, opens its operation.
func (v *verb) begin(ctx context.Context) error {
	n, info := v.node, v.request.verb
	if err := metal.Fire(n, info.Event, info.Target, v.service.now()); err != nil {
		return err
	}
	class, _ := n.ProvisionState.Info()
	if class.Class == metal.Stable {
		// A mere change of state: nothing follows, and last_error stays.
		return v.tx.UpdateNode(ctx, n)
	}
	n.LastError = nil
	before := *n
	args := v.arguments()
	v.noteImage()
	args, err := v.prepare(ctx, args)
	if err != nil {
		return err
	}
	if err := v.checkHosted(ctx, args); err != nil {
		return err
	}
	secrets, err := v.service.sealSecrets(&before, n)
	if err != nil {
		return err
	}
	if err := v.supersede(ctx); err != nil {
		return err
	}
	op := metal.OperationRecord{ID: newUUID(), NodeUUID: n.UUID, Axis: metal.AxisProvision, Verb: string(info.Verb), Args: args}
	stepSecrets, err := sealOperation(&op)
	if err != nil {
		return err
	}
	if err := v.service.open(ctx, v.tx, v.call, n, op); err != nil {
		return err
	}
	if err := v.service.writeSecrets(ctx, v.tx, secrets); err != nil {
		return err
	}
	return v.service.writeSecrets(ctx, v.tx, stepSecrets)
}

// supersede closes the operation that waits for somebody else: a tear down takes
// the place of a deployment, a rescue or a service that waits for the ramdisk.
func (v *verb) supersede(ctx context.Context) error {
	ops, err := v.tx.OpenOperations(ctx, v.node.UUID)
	if err != nil {
		return err
	}
	for i := range ops {
		if ops[i].Axis != metal.AxisProvision {
			continue
		}
		if err := v.tx.CloseOperation(ctx, &ops[i]); err != nil {
			return err
		}
		if err := v.tx.DeleteSecrets(ctx, ops[i].Secrets()); err != nil {
			return err
		}
	}
	return nil
}

// arguments are the request's own, as the operation keeps them. Secrets go to
// the node, whose keeping them seals them.
func (v *verb) arguments() metal.JSON {
	p, args := v.request, map[string]any{}
	for name, steps := range map[string][]any{"clean_steps": p.cleanSteps, "deploy_steps": p.deploySteps, "service_steps": p.serviceSteps} {
		if len(steps) > 0 {
			args[name] = normalSteps(steps)
		}
	}
	if p.disableRamdisk != nil {
		args["disable_ramdisk"] = *p.disableRamdisk
	}
	if truthy(p.configDrive) {
		drive := p.configDrive
		if object, ok := drive.(map[string]any); ok {
			drive = string(metal.ToJSON(object)) // sealed as one text
		}
		v.node.InstanceInfo = v.node.InstanceInfo.With("configdrive", drive)
	}
	if p.rescuePassword != nil {
		v.node.InstanceInfo = v.node.InstanceInfo.With("rescue_password", *p.rescuePassword)
	}
	return metal.ToJSON(args)
}

// noteImage records what sort of image a deployment writes.
func (v *verb) noteImage() {
	n := v.node
	if v.request.verb.Steps != metal.DeploySteps {
		return
	}
	info := n.InstanceInfo.Object()
	source, _ := info["image_source"].(string)
	if source == "" || truthy(info["image_type"]) || truthy(info["kernel"]) || truthy(info["ramdisk"]) {
		return
	}
	n.InstanceInfo = n.InstanceInfo.With("image_type", "whole-disk")
}

// signal hands abort and unhold to the operation that waits. Where none does,
// the state machine moves at once.
func (v *verb) signal(ctx context.Context) error {
	n, info := v.node, v.request.verb
	ops, err := v.tx.OpenOperations(ctx, n.UUID)
	if err != nil {
		return err
	}
	for _, op := range ops {
		if op.Axis == metal.AxisProvision {
			if err := v.markStep(ctx); err != nil {
				return err
			}
			return v.tx.Post(ctx, n.UUID, metal.InboxVerb, metal.ToJSON(metal.VerbPayload{Verb: string(info.Verb), OperationID: op.ID}))
		}
	}
	inRamdisk, _ := n.DriverInternalInfo.Lookup(metal.InfoAgentAttempted).(bool)
	if err := v.signalAtOnce(); err != nil {
		return err
	}
	if inRamdisk && n.ProvisionState == metal.Active {
		// The failed service has left its ramdisk up, in place of the instance.
		n.DriverInternalInfo = n.DriverInternalInfo.Without(metal.InfoAgentAttempted)
		return v.service.open(ctx, v.tx, v.call, n, metal.OperationRecord{Axis: metal.AxisAction, Verb: string(metal.ActionBootInstance)})
	}
	return v.tx.UpdateNode(ctx, n)
}

// signalAtOnce moves a node on which nothing works: a failed service, or a wait
// whose operation is gone.
func (v *verb) signalAtOnce() error {
	n, event, at := v.node, v.request.verb.Event, v.service.now()
	if event == metal.EventAbort && n.ProvisionState.Is(metal.ServiceWait, metal.ServiceHold) {
		if err := metal.Fire(n, metal.EventFail, metal.NoState, at); err != nil {
			return err
		}
	}
	keep := metal.NoState
	if n.ManualClean() && n.ProvisionState == metal.CleanWait {
		keep = metal.Manageable
	}
	from := n.ProvisionState
	if err := metal.Fire(n, event, keep, at); err != nil {
		return err
	}
	if event == metal.EventUnhold && from == metal.ServiceHold {
		// Servicing goes on at once, and there is nothing to go on with.
		text := "The service was held without any work that could go on."
		n.LastError = &text
		return metal.Fire(n, metal.EventFail, metal.NoState, at)
	}
	if event == metal.EventAbort && from != metal.RescueWait {
		text := fmt.Sprintf("By request, the operation was aborted in state %s.", from)
		n.LastError = &text
	}
	return nil
}

// setMaintenance and clearMaintenance are one change of the node.
func (s *Service) setMaintenance(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	reason, err := kw.text("reason")
	if err != nil {
		return err
	}
	return s.maintain(c, func(n *metal.Node) { n.Maintenance, n.MaintenanceReason = true, reason })
}

func (s *Service) clearMaintenance(c *call) error {
	return s.maintain(c, func(n *metal.Node) { n.Maintenance, n.MaintenanceReason, n.Fault = false, nil, nil })
}

func (s *Service) maintain(c *call, change func(n *metal.Node)) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		change(n)
		return tx.UpdateNode(ctx, n)
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusAccepted)
}

// validateNode says of each interface whether it could work.
func (s *Service) validateNode(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	return s.answerValidation(c, &n)
}

func (s *Service) validateNodeByQuery(c *call) error {
	byUUID, err := c.query.uuid("node_uuid")
	if err != nil {
		return err
	}
	byIdent, err := c.query.ident("node")
	if err != nil {
		return err
	}
	ident := byUUID
	if ident == nil {
		ident = byIdent
	}
	if ident == nil {
		return badRequest("Missing mandatory parameter: node")
	}
	if byIdent != nil && c.version < 5 && !isUUIDLike(*byIdent) {
		return notAcceptable()
	}
	n, err := s.node(c, *ident)
	if err != nil {
		return err
	}
	return s.answerValidation(c, &n)
}

// validated are the interfaces that validation looks at.
var validated = []metal.InterfaceType{
	metal.BootInterface, metal.DeployInterface, metal.ManagementInterface, metal.NetworkInterface, metal.PowerInterface,
	metal.BIOSInterface, metal.ConsoleInterface, metal.FirmwareInterface, metal.InspectInterface, metal.RAIDInterface,
	metal.RescueInterface, metal.StorageInterface,
}

func (s *Service) answerValidation(c *call, n *metal.Node) error {
	ctx := c.Request().Context()
	if err := s.requireConductor(ctx, n, http.StatusNotFound); err != nil {
		return err
	}
	ports, err := s.store.PortsOf(ctx, n.UUID)
	if err != nil {
		return err
	}
	m := s.machine(n)
	m.Ports = ports
	if m.Hosted, err = hosted(ctx, s.store, n); err != nil {
		return err
	}
	b := []byte{'{'}
	for i, t := range validated {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, string(t))
		if err := m.Validate(t); err != nil {
			b = append(b, `{"result":false,"reason":`...)
			b = append(appendString(b, asFault(err).Text), '}')
			continue
		}
		b = append(b, `{"result":true}`...)
	}
	return c.json(http.StatusOK, append(b, '}'))
}
