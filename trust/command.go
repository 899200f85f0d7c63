package trust

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ferrule/metal"
)

// clockSkew is by how much the clocks of control plane and site may differ.
const clockSkew = 5 * time.Minute

// Verifier judges the commands that reach one agent, by the agent's own bundle.
// It is safe for concurrent use.
type Verifier struct {
	agentID   string
	roots     *x509.CertPool
	approvals *Approvals
	now       func() time.Time
}

// NewVerifier makes the verifier of the agent's bundle. A nil now is the clock.
func NewVerifier(bundle Bundle, agentID string, now func() time.Time) (*Verifier, error) {
	roots, err := poolFromPEM(bundle.CommandRoots)
	if err != nil {
		return nil, fmt.Errorf("read roots of command signing: %w", err)
	}
	if now == nil {
		now = time.Now
	}
	return &Verifier{agentID: agentID, roots: roots, approvals: bundle.Approvals, now: now}, nil
}

// Verify is the command in envelope, or a Refusal: the command is signed by a
// key of the command-signing root, addressed to this agent, not expired, its
// operation is one of its kind, and its authority covers it.
func (v *Verifier) Verify(envelope string) (metal.Command, error) {
	message, err := parseSigned(envelope)
	if err != nil {
		return metal.Command{}, err
	}
	command, err := v.judge(message)
	if err != nil {
		return metal.Command{}, withCommandID(err, message.unverified())
	}
	return command, nil
}

func (v *Verifier) judge(message signed) (metal.Command, error) {
	now := v.now()
	command, err := openCommand(message, v.roots, now)
	if err != nil {
		return command, err
	}
	if command.AgentID != v.agentID {
		return command, refuse(RefusedAgent, nil, "command is for agent %q, this is %q", command.AgentID, v.agentID)
	}
	if !now.Before(command.ExpiresAt) {
		return command, refuse(RefusedExpired, nil, "command expired at %s", command.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if command.IssuedAt.After(now.Add(clockSkew)) {
		return command, refuse(RefusedExpired, nil, "command is dated %s, ahead of this clock (%s); check the clocks",
			command.IssuedAt.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	kind, err := checkKind(command)
	if err != nil {
		return command, err
	}
	return command, v.checkAuthority(command, kind)
}

// openCommand is the command in a message that the root's signers made.
func openCommand(message signed, roots *x509.CertPool, now time.Time) (metal.Command, error) {
	var command metal.Command
	body, _, err := message.verify(typeCommand, roots, x509.ExtKeyUsageCodeSigning, now)
	if err != nil {
		return command, err
	}
	if err := json.Unmarshal(body, &command); err != nil {
		return command, refuse(RefusedMalformed, err, "command is not as expected: %v", err)
	}
	if command.ID == "" {
		return command, refuse(RefusedMalformed, nil, "command has no id")
	}
	return command, nil
}

func checkKind(command metal.Command) (metal.KindInfo, error) {
	kind, ok := metal.KindOf(command.Kind)
	if !ok {
		return kind, refuse(RefusedKind, nil, "unknown kind of command %q", command.Kind)
	}
	if !kind.Covers(command.Request.Operation) {
		return kind, refuse(RefusedKind, nil, "operation %q does not belong to kind %q", command.Request.Operation, command.Kind)
	}
	return kind, nil
}

func (v *Verifier) checkAuthority(command metal.Command, kind metal.KindInfo) error {
	switch command.Authority.Type {
	case metal.AuthorityNone:
		if kind.Destructive && v.approvals.required() {
			return refuse(RefusedAuthority, nil, "a command of kind %q needs the agreement of %d approvers here and cites none",
				command.Kind, v.approvals.Quorum)
		}
		return nil
	default:
		return refuse(RefusedAuthority, nil, "command cites the authority %q, which cannot be verified here", command.Authority.Type)
	}
}

func withCommandID(err error, body []byte) error {
	var claim struct {
		ID string `json:"id"`
	}
	var r *Refusal
	if !errors.As(err, &r) || json.Unmarshal(body, &claim) != nil {
		return err
	}
	named := *r
	named.CommandID = claim.ID
	return &named
}
