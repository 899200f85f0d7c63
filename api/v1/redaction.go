package v1

import (
	"errors"

	"ferrule/api/policy"
	"ferrule/metal"
)

// redaction is what an answer leaves out of a node for the sender. The zero
// value shows everything but secrets.
type redaction struct {
	lastError, reservation, internalInfo, driverInfo bool
	showSecrets, showInstanceSecrets                 bool
}

// The words that stand for what is left out, which clients compare.
const (
	redactedLastError    = "** Value Redacted - Requires baremetal:node:get:last_error permission. **"
	redactedReservation  = "** Redacted - requires baremetal:node:get:reservation permission. **"
	redactedInternalInfo = `{"content":"** Redacted - Requires baremetal:node:get:driver_internal_info permission. **"}`
	redactedDriverInfo   = `{"content":"** Redacted - requires baremetal:node:get:driver_info permission. **"}`
)

// redact decides for one node. Nodes of a list often have the same owner, and
// then the same answer.
func (r *rights) redact(n *metal.Node) redaction {
	if !r.enforced && r.blind {
		return redaction{}
	}
	ownership := [2]string{}
	if n.Owner != nil {
		ownership[0] = *n.Owner
	}
	if n.Lessee != nil {
		ownership[1] = *n.Lessee
	}
	if !r.any || r.ownership != ownership {
		r.redacted, r.ownership, r.any = r.decide(n), ownership, true
	}
	return r.redacted
}

// decide asks the policies (Ironic: node_sanitize). Those on secrets count
// whether or not policies are enforced.
func (r *rights) decide(n *metal.Node) redaction {
	var d redaction
	about := policy.Values{}
	if filled(n.Owner) {
		about["node.owner"] = *n.Owner
	}
	if filled(n.Lessee) {
		about["node.lessee"] = *n.Lessee
	}
	if !r.blind {
		all := r.credentials().With(about)
		d.showSecrets = r.policy.Allows("show_password", all, nil)
		d.showInstanceSecrets = r.policy.Allows("show_instance_secrets", all, nil)
	}
	if r.allows("baremetal:node:get:filter_threshold", about) {
		return d
	}
	d.lastError = !r.allows("baremetal:node:get:last_error", about)
	d.reservation = !r.allows("baremetal:node:get:reservation", about)
	d.internalInfo = !r.allows("baremetal:node:get:driver_internal_info", about)
	d.driverInfo = !r.allows("baremetal:node:get:driver_info", about)
	return d
}

// isScope says whether a refusal is of a token's scope.
func isScope(err error) bool {
	var denied *policy.Denied
	return errors.As(err, &denied) && denied.Scope
}
