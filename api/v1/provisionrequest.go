package v1

import (
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
)

// provisionRequest is the body of PUT states/provision.
type provisionRequest struct {
	op             *openapi.Operation
	target         string
	verb           metal.VerbInfo
	alias          bool // the target was the verb's second word
	known          bool // the target is a verb at all
	configDrive    any
	cleanSteps     []any
	deploySteps    []any
	serviceSteps   []any
	rescuePassword *string
	disableRamdisk *bool
	runbook        *string
	findRunbook    runbookFinder
	stepsOf        string // UUID of the runbook whose steps these are
}

func parseProvision(op *openapi.Operation, kw keywords) (*provisionRequest, error) {
	p := &provisionRequest{op: op}
	if err := kw.required("target"); err != nil {
		return nil, err
	}
	target, err := kw.text("target")
	if err != nil {
		return nil, err
	}
	if target != nil {
		p.target = *target
		p.verb, p.alias, p.known = metal.ParseVerb(p.target)
	}
	switch v := kw["configdrive"].(type) {
	case nil, string, map[string]any:
		p.configDrive = v
	default:
		return nil, badRequest("Expected an object or a string for configdrive")
	}
	for name, field := range map[string]*[]any{"clean_steps": &p.cleanSteps, "deploy_steps": &p.deploySteps, "service_steps": &p.serviceSteps} {
		if *field, err = kw.list(name); err != nil {
			return nil, err
		}
	}
	if p.rescuePassword, err = kw.text("rescue_password"); err != nil {
		return nil, err
	}
	if p.disableRamdisk, err = kw.boolean("disable_ramdisk"); err != nil {
		return nil, err
	}
	p.runbook, err = kw.text("runbook")
	return p, err
}

// check is what Ironic's API checks before it calls a conductor, in its order
// (Ironic: NodeStatesController.provision).
func (p *provisionRequest) check(n *metal.Node, v openapi.Version, limits stepLimits) error {
	if v < p.minVersion() {
		return notAcceptable()
	}
	if p.known && !p.alias && (p.verb.Verb == metal.VerbActive || p.verb.Verb == metal.VerbRebuild) && n.Maintenance {
		return inMaintenance(n, "provisioning")
	}
	if err := p.checkState(n); err != nil {
		return err
	}
	if err := p.checkConfigDrive(v); err != nil {
		return err
	}
	if err := p.takeRunbook(n, v); err != nil {
		return err
	}
	if err := p.checkDisableRamdisk(v); err != nil {
		return err
	}
	if err := p.checkPairing(n, v); err != nil {
		return err
	}
	if !p.known {
		return badRequest("The requested action %q could not be understood.", p.target)
	}
	return p.checkNeeds(limits)
}

// minVersion is the version gate that comes before all other checks; those of
// unhold and service come after the state's, and "undeploy" has none.
func (p *provisionRequest) minVersion() openapi.Version {
	switch {
	case p.target == "delete":
		return 73
	case !p.known, p.verb.Verb == metal.VerbUnhold, p.verb.Verb == metal.VerbService:
		return 1
	case p.alias && p.verb.Verb == metal.VerbDeleted:
		return 1
	case p.alias:
		return openapi.Version(p.verb.AliasSince)
	}
	return openapi.Version(p.verb.MinMinor)
}

func inMaintenance(n *metal.Node, what string) error {
	return badRequest("The %s operation can't be performed on node %s because it's in maintenance mode.", what, n.UUID)
}

func invalidState(action string, n *metal.Node, state string) error {
	return badRequest("The requested action %q can not be performed on node %q while it is in state %q.", action, n.UUID, state)
}

func nodeLocked(n *metal.Node) error {
	return conflict("Node %s is locked by host %s, please retry after the current operation is completed.", n.UUID, *n.Reservation)
}

// checkState refuses a verb that the state does not know: 409 while somebody
// works on the node, else 400.
func (p *provisionRequest) checkState(n *metal.Node) error {
	event := metal.Event(p.target)
	if p.known {
		event = p.verb.Event
	}
	if _, ok := metal.Next(n.ProvisionState, event); ok {
		return nil
	}
	if n.Reservation != nil {
		return nodeLocked(n)
	}
	return invalidState(p.target, n, string(n.ProvisionState))
}

func (p *provisionRequest) checkConfigDrive(v openapi.Version) error {
	if !truthy(p.configDrive) {
		return nil
	}
	if p.alias || p.verb.ConfigDrive == 0 || v < openapi.Version(p.verb.ConfigDrive) {
		return badRequest("Adding a config drive is only supported when setting provision state to active or rebuild.")
	}
	switch t := p.configDrive.(type) {
	case map[string]any:
		return checkConfigDriveObject(t, v)
	case string:
		return checkConfigDriveText(t)
	}
	return nil
}

func checkConfigDriveObject(m map[string]any, v openapi.Version) error {
	for key, value := range m {
		_, isObject := value.(map[string]any)
		ok := false
		switch key {
		case "meta_data", "network_data", "vendor_data":
			ok = isObject
		case "user_data":
			switch value.(type) {
			case nil, string, []any, map[string]any:
				ok = true
			}
		}
		if !ok {
			return badRequest("Invalid configdrive format: unexpected or mistyped key %q.", key)
		}
	}
	if v < 56 {
		return badRequest("Providing a JSON object for configdrive is only supported starting with API version 1.56")
	}
	if _, given := m["vendor_data"]; given && v < 59 {
		return badRequest("Providing vendor_data in configdrive is only supported starting with API version 1.59")
	}
	return nil
}

func checkConfigDriveText(s string) error {
	if strings.Contains(s, "://") {
		return nil
	}
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+/=\n\r\t ", r)) {
			return badRequest("Invalid configdrive format: it is neither a JSON, nor a URL, nor a base64 string")
		}
	}
	return nil
}

func (p *provisionRequest) checkDisableRamdisk(v openapi.Version) error {
	if p.disableRamdisk == nil {
		return nil
	}
	if !p.known || p.verb.DisableRamdisk == 0 {
		return badRequest("disable_ramdisk is supported only with manual cleaning or servicing")
	}
	if v < openapi.Version(p.verb.DisableRamdisk) {
		return notAcceptable()
	}
	return nil
}

// checkPairing refuses arguments on the wrong verb and verbs that are too new
// for the request.
func (p *provisionRequest) checkPairing(n *metal.Node, v openapi.Version) error {
	onlyWith := func(name string, given bool, verbs ...metal.Verb) error {
		if !given || p.known && !p.alias && slices.Contains(verbs, p.verb.Verb) {
			return nil
		}
		words := make([]string, len(verbs))
		for i, v := range verbs {
			words[i] = string(v)
		}
		return badRequest("%q is only valid when setting target provision state to %s", name, strings.Join(words, " or "))
	}
	if err := onlyWith("clean_steps", len(p.cleanSteps) > 0, metal.VerbClean); err != nil {
		return err
	}
	if len(p.deploySteps) > 0 && v < p.op.Arg("deploy_steps").Min {
		return notAcceptable()
	}
	if err := onlyWith("deploy_steps", len(p.deploySteps) > 0, metal.VerbActive, metal.VerbRebuild); err != nil {
		return err
	}
	if err := onlyWith("rescue_password", p.rescuePassword != nil, metal.VerbRescue); err != nil {
		return err
	}
	if p.verb.Verb == metal.VerbAbort && v < openapi.Version(metal.AbortSince(n.ProvisionState)) {
		return notAcceptable()
	}
	if p.verb.Verb == metal.VerbUnhold && v < openapi.Version(p.verb.MinMinor) {
		return notAcceptable()
	}
	if err := onlyWith("service_steps", len(p.serviceSteps) > 0, metal.VerbService); err != nil {
		return err
	}
	if p.verb.Verb == metal.VerbService && v < openapi.Version(p.verb.MinMinor) {
		return notAcceptable()
	}
	return nil
}

// checkNeeds checks the arguments that the verb itself wants.
func (p *provisionRequest) checkNeeds(limits stepLimits) error {
	switch p.verb.Verb {
	case metal.VerbActive, metal.VerbRebuild:
		return checkDeploySteps(p.deploySteps, limits.deploy)
	case metal.VerbClean:
		return checkSteps("clean", p.cleanSteps, limits.clean)
	case metal.VerbService:
		return checkSteps("service", p.serviceSteps, limits.service)
	case metal.VerbRescue:
		if p.rescuePassword == nil || strings.TrimSpace(*p.rescuePassword) == "" {
			return faultf(http.StatusBadRequest, "A non-empty \"rescue_password\" is required when setting target provision state to rescue")
		}
	}
	return nil
}
