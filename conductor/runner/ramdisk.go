package runner

import (
	"fmt"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

// sendStep asks the ramdisk to begin the step under way.
func sendStep(r *run, _ task) (verdict, error) {
	kind, s := string(r.kind()), *r.step()
	params := r.nodeParams()
	step := map[string]any{}
	if err := metal.ToJSON(s).Decode(&step); err != nil {
		return stay, fmt.Errorf("write the step %s: %w", s.Name(), err)
	}
	params["step"], params[kind+"_version"] = step, r.plan.Version
	req, args, err := r.ramdiskCall(kind+".execute_"+kind+"_step", params, false)
	if err != nil {
		return stay, err
	}
	if own, ok := r.machine().Step(r.kind(), s); ok && own.Args != nil {
		stepArgs, err := own.Args(r.machine())
		if err != nil {
			return stay, err
		}
		drive, err := r.instanceSecret("configdrive")
		if err != nil {
			return stay, err
		}
		if own.ConfigDrive && drive != "" {
			req.Secrets[metal.ConfigDriveParam], args.ConfigDrive = drive, true
		}
		params["step"] = map[string]any{"interface": s.Interface, "step": s.Step, "args": stepArgs}
	} else if err := r.takeSecrets(req.Secrets, step["args"], metal.RamdiskParams+"/step/args"); err != nil {
		return stay, err
	}
	r.plan.Beat, r.plan.Unsure = false, false
	return r.command(req, args, 0)
}

// instanceSecret is the ref that instance_info has under key, "" for none.
func (r *run) instanceSecret(key string) (string, error) {
	ref := r.node.InstanceInfo.Text(key)
	if ref != "" && !metal.InstanceInfoSecrets(r.node.UUID).Holds(ref) {
		return "", fmt.Errorf("instance_info has no secret of its own as %s: the database was changed from outside; write the value again", key)
	}
	return ref, nil
}

// takeSecrets moves the refs below v, which stands at a pointer, to the secret
// parameters. They are of the operation's own secrets: a step has no others.
func (r *run) takeSecrets(params map[string]string, v any, at string) error {
	var err error
	var walk func(v any, at string) any
	walk = func(v any, at string) any {
		switch t := v.(type) {
		case map[string]any:
			for k, item := range t {
				t[k] = walk(item, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k))
			}
		case []any:
			for i, item := range t {
				t[i] = walk(item, fmt.Sprint(at, "/", i))
			}
		case string:
			switch {
			case r.op.Secrets().Holds(t):
				params[at] = t
				return nil
			case metal.IsSecretRef(t):
				err = fmt.Errorf("the argument at %s is a reference to a secret that is not this operation's", at)
			}
		}
		return v
	}
	walk(v, at)
	return err
}

// stepSent takes the answer to execute_*_step. A ramdisk that cannot be
// reached or is busy is not a failure: the step is begun again at its next
// call, and where the outcome is unknown the ramdisk is asked what it does.
func stepSent(r *run, t task, res metal.CommandResult) (verdict, error) {
	if res.ErrorCode == metal.CodeOutcomeUnknown {
		r.plan.Beat, r.plan.Unsure = true, true
		return done, nil
	}
	c, err := ramdiskResult(res)
	switch {
	case err != nil && res.ErrorCode != metal.CodeUnreachable:
		return stay, err
	case err != nil || c.Busy:
		return afterHeartbeat(r, t)
	}
	return done, nil
}

// afterHeartbeat begins the task anew when the ramdisk calls.
func afterHeartbeat(r *run, t task) (verdict, error) {
	r.push(hardware.Fire(metal.EventWait), task{Do: hardware.TaskAwaitHeartbeat}, hardware.Fire(metal.EventResume), t)
	return done, nil
}

// awaitStep waits for the call that tells that the step has ended.
func awaitStep(r *run, _ task) (verdict, error) {
	if r.plan.Beat {
		r.plan.Beat = false
		return r.askRamdisk("", nil, false)
	}
	r.wait(r.callbackTimeout())
	return stay, nil
}

func pollStep(r *run, _ task, e metal.InboxEntry) (verdict, error) {
	if e.Kind != metal.InboxHeartbeat || r.node.Maintenance {
		return stay, nil
	}
	return r.askRamdisk("", nil, false)
}

// polled looks at the last command of the ramdisk, as Ironic does
// (ipa-protocol, "Process next step").
func polled(r *run, t task, res metal.CommandResult) (verdict, error) {
	c, err := ramdiskResult(res)
	if err != nil || c.Busy {
		return awaitStep(r, t)
	}
	kind := string(r.kind())
	last, fresh := lastCommand(c.Commands)
	if fresh {
		// Freshly booted: the step has asked for a restart, or never began.
		return r.begunAgain(t)
	}
	another := last.Name != "execute_"+kind+"_step" ||
		last.Status == "SUCCEEDED" && !sameStep(last.Result[kind+"_step"], *r.step())
	switch {
	case another && r.plan.Unsure:
		return r.begunAgain(t) // it never arrived
	case another:
		return awaitStep(r, t)
	}
	r.plan.Unsure = false
	switch last.Status {
	case metal.RamdiskRunning:
		return awaitStep(r, t)
	case "SUCCEEDED":
		if err := r.stepSucceeded(last); err != nil {
			return stay, err
		}
		return done, nil
	case "CLEAN_VERSION_MISMATCH", "VERSION_MISMATCH":
		r.push(hardware.Fire(metal.EventResume), task{Do: hardware.TaskRamdiskSteps, Args: metal.ToJSON(kind)}, task{Do: hardware.TaskAgentStep}, hardware.Fire(metal.EventWait), t)
		return done, nil
	}
	return stay, fmt.Errorf("%v", errorText(last))
}

func (r *run) begunAgain(t task) (verdict, error) {
	r.push(hardware.Fire(metal.EventResume), task{Do: hardware.TaskAgentStep}, hardware.Fire(metal.EventWait), t)
	return done, nil
}

func errorText(c metal.RamdiskCommand) any {
	if m, ok := c.Error["message"]; ok {
		if d, ok := c.Error["details"]; ok && d != m {
			return fmt.Sprintf("%v %v", m, d)
		}
		return m
	}
	return "the ramdisk gave no reason (" + c.Status + ")"
}

// lastCommand is the end of the list; fresh is true where the ramdisk has done
// nothing but tell its steps.
func lastCommand(list []metal.RamdiskCommand) (last metal.RamdiskCommand, fresh bool) {
	fresh = true
	for _, c := range list {
		switch c.Name {
		case "get_clean_steps", "get_deploy_steps", "get_service_steps":
		default:
			fresh = false
		}
		last = c
	}
	return last, fresh
}

func sameStep(v any, s metal.Step) bool {
	m, ok := v.(map[string]any)
	return ok && m["interface"] == s.Interface && m["step"] == s.Step
}

func ramdiskResult(res metal.CommandResult) (metal.RamdiskCallResult, error) {
	var c metal.RamdiskCallResult
	if !res.OK {
		return c, refusal{res}
	}
	if err := metal.JSON(res.ResultJSON).Decode(&c); err != nil {
		return c, fmt.Errorf("read the ramdisk's answer: %w", err)
	}
	return c, nil
}

func callOf(t task) hardware.RamdiskCall {
	var c hardware.RamdiskCall
	_ = t.Args.Decode(&c) // written here
	return c
}

func callRamdisk(r *run, t task) (verdict, error) {
	c := callOf(t)
	return r.askRamdisk(c.Command, c.Params, true)
}

// called takes the answer to such a call. All of them may be said twice but the
// one to go off, after which nobody answers; what is off shows at the BMC.
func called(r *run, t task, res metal.CommandResult) (verdict, error) {
	c, err := ramdiskResult(res)
	switch {
	case res.ErrorCode == metal.CodeOutcomeUnknown && callOf(t).Command != hardware.RamdiskPowerOff:
		return again(r, t, res)
	case t.BestEffort && (!isRunning(c.Command) || callOf(t).Command == hardware.RamdiskPowerOff):
		return done, nil
	case err != nil:
		return stay, err
	case c.Busy:
		return afterHeartbeat(r, t)
	case isRunning(c.Command):
		return r.awaitCommand(t, *c.Command)
	}
	if c.Command != nil && c.Command.Status == "FAILED" {
		return stay, fmt.Errorf("%v", errorText(*c.Command))
	}
	return done, nil
}

// nodeParams are the node and its ports as the ramdisk gets them: what the
// node's record says, secrets masked.
func (r *run) nodeParams() map[string]any {
	n := r.node
	ports := make([]map[string]any, 0, len(r.Ports))
	for _, p := range r.Ports {
		ports = append(ports, map[string]any{
			"uuid": p.UUID, "address": p.Address, "pxe_enabled": p.PXEEnabled, "extra": p.Extra,
			"local_link_connection": p.LocalLinkConnection, "physical_network": p.PhysicalNetwork, "name": p.Name,
		})
	}
	node := map[string]any{
		"uuid": n.UUID, "name": n.Name, "driver": n.Driver, "properties": n.Properties, "extra": n.Extra,
		"instance_info": masked(n.InstanceInfo), "driver_internal_info": masked(n.DriverInternalInfo),
		"driver_info": masked(n.DriverInfo), "instance_uuid": n.InstanceUUID, "provision_state": n.ProvisionState,
		"target_provision_state": n.TargetProvisionState, "power_state": n.PowerState, "raid_config": n.RAIDConfig,
		"target_raid_config": n.TargetRAIDConfig, "deploy_interface": n.DeployInterface, "raid_interface": n.RAIDInterface,
		"resource_class": n.ResourceClass, "traits": n.Traits, "maintenance": n.Maintenance,
	}
	return map[string]any{"node": node, "ports": ports}
}

// masked hides secrets, and the refs that stand for them.
func masked(j metal.JSON) map[string]any {
	m := j.Object()
	for k, v := range m {
		m[k] = maskedValue(k, v)
	}
	return m
}

func maskedValue(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, m := range v {
			v[k] = maskedValue(k, m)
		}
		return v
	case []any:
		for i, m := range v {
			v[i] = maskedValue("", m)
		}
		return v
	case string:
		if metal.IsSecretKey(key) || metal.IsSecretRef(v) {
			return metal.Masked
		}
	}
	return v
}
