package v1

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	_ "github.com/GehirnInc/crypt/sha256_crypt" // the two hashes that a ramdisk takes
	_ "github.com/GehirnInc/crypt/sha512_crypt"

	"github.com/GehirnInc/crypt"

	"ferrule/metal"
)

// What a verb's request becomes before its operation opens.

// prepare completes the operation's arguments, and the node, for what is to be
// done.
func (v *verb) prepare(ctx context.Context, args metal.JSON) (metal.JSON, error) {
	if v.request.stepsOf != "" {
		opened, err := v.service.openSteps(ctx, v.tx, metal.RunbookSecrets, v.request.stepsOf, args.Object())
		if err != nil {
			return args, err
		}
		args = metal.ToJSON(opened)
	}
	if v.request.verb.Steps == metal.DeploySteps {
		v.lend()
		steps, err := v.templateSteps(ctx)
		if err != nil || len(steps) == 0 {
			return args, err
		}
		return args.With("template_steps", normalSteps(steps)), nil
	}
	return args, v.hashPassword()
}

// templateSteps are the steps of the deploy templates that the instance's
// traits name.
func (v *verb) templateSteps(ctx context.Context) ([]any, error) {
	names, err := instanceTraits(v.node)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	list, err := v.tx.DeployTemplatesNamed(ctx, names)
	if err != nil {
		return nil, err
	}
	var steps []any
	for _, t := range list {
		var own []any
		if err := t.Steps.Decode(&own); err != nil {
			return nil, fmt.Errorf("read the steps of the deploy template %s: %w", t.Name, err)
		}
		opened, err := v.service.openSteps(ctx, v.tx, metal.DeployTemplateSecrets, t.UUID, own)
		if err != nil {
			return nil, err
		}
		steps = append(steps, opened.([]any)...)
	}
	return steps, checkCoreSteps(v.node, steps)
}

// checkDeployment is what a deployment must meet besides valid interfaces.
func (v *verb) checkDeployment() error {
	n, conf := v.node, v.service.config.Conductor
	if mode := strings.ToLower(strings.TrimSpace(n.Properties.Text("boot_mode"))); slices.Contains(conf.DisallowedDeploymentBootModes, mode) {
		return badRequest("Node %s may not be deployed: its boot mode %s is not allowed by [conductor]disallowed_deployment_boot_modes.", n.UUID, mode)
	}
	wanted, err := instanceTraits(n)
	if err != nil {
		return badRequest("Failed to validate deploy or power info for node %s. Error: %s", n.UUID, err)
	}
	var missing []string
	for _, t := range wanted {
		if !slices.Contains(n.Traits, t) {
			missing = append(missing, t)
		}
	}
	if len(missing) > 0 {
		return badRequest("Failed to validate deploy or power info for node %s. Error: Specified traits in instance_info are not a subset of the node's traits; missing: %s",
			n.UUID, strings.Join(missing, ", "))
	}
	return nil
}

// instanceTraits are the traits that the instance was made for.
func instanceTraits(n *metal.Node) ([]string, error) {
	v := n.InstanceInfo.Lookup("traits")
	if v == nil {
		return nil, nil
	}
	var names []string
	if err := metal.ToJSON(v).Decode(&names); err != nil {
		return nil, metal.Errorf(metal.Invalid, "traits in instance_info is not a list of texts")
	}
	return names, nil
}

// checkCoreSteps refuses a template that moves the one step which can only be
// left out.
func checkCoreSteps(n *metal.Node, steps []any) error {
	for _, item := range steps {
		step, _ := item.(map[string]any)
		if priority, _ := ordinal(step["priority"]); step["interface"] == "deploy" && step["step"] == "deploy" && priority != 0 {
			return badRequest("Failed to validate deploy or power info for node %s. Error: a deploy template changes the core step deploy.deploy, which can only be left out, with priority 0", n.UUID)
		}
	}
	return nil
}

// lend makes the instance's project the lessee of a node that has none (Ironic:
// conductor/deployments.apply_automatic_lessee).
func (v *verb) lend() {
	n, project := v.node, ""
	switch v.service.config.Conductor.AutomaticLesseeSource {
	case "instance":
		project = n.InstanceInfo.Text("project_id")
	case "request":
		project = v.call.rights.who.ProjectID
	}
	if project == "" || n.Lessee != nil {
		return
	}
	n.Lessee = &project
	n.DriverInternalInfo = n.DriverInternalInfo.With(metal.InfoAutomaticLessee, true)
}

// hashPassword keeps the rescue password in the form that a ramdisk takes
// beside the one that was given; both are sealed with the node.
func (v *verb) hashPassword() error {
	if v.request.rescuePassword == nil {
		return nil
	}
	algorithm := crypt.SHA256
	if v.service.config.Conductor.RescuePasswordHashAlgorithm == "sha512" {
		algorithm = crypt.SHA512
	}
	hash, err := crypt.New(algorithm).Generate([]byte(*v.request.rescuePassword), nil)
	if err != nil {
		return fmt.Errorf("hash the rescue password of node %s: %w", v.node.UUID, err)
	}
	v.node.InstanceInfo = v.node.InstanceInfo.With("hashed_rescue_password", hash)
	return nil
}

// normalSteps writes priorities and orders as numbers, which a request may give
// as digits.
func normalSteps(steps []any) []any {
	for _, item := range steps {
		step, ok := item.(map[string]any)
		if !ok {
			continue
		}
		for _, key := range []string{"priority", "order"} {
			if n, ok := ordinal(step[key]); ok {
				step[key] = n
			}
		}
	}
	return steps
}

// ordinal is a whole number or a text of digits as a number, the largest that
// there is for one beyond.
func ordinal(v any) (int32, bool) {
	var text string
	switch t := v.(type) {
	case json.Number:
		text = t.String()
	case string:
		text = t
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	return int32(min(n, math.MaxInt32)), true
}

// markStep shows at once that a step which must not be cut short is the last
// one before an abort (Ironic: conductor/manager._do_abort).
func (v *verb) markStep(ctx context.Context) error {
	if v.request.verb.Verb != metal.VerbAbort {
		return nil
	}
	for column, step := range map[string]*metal.JSON{"clean_step": &v.node.CleanStep, "service_step": &v.node.ServiceStep} {
		if abortable, _ := step.Lookup("abortable").(bool); abortable || step.Empty() {
			continue
		}
		*step = step.With("abort_after", true)
		return v.tx.UpdateNode(ctx, v.node, column)
	}
	return nil
}
