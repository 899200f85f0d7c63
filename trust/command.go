package trust

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ferrule/metal"
)

// mostAhead is by how much a command may be dated in the future. A clock that is
// set back by a day must not fail what was signed before, and does no harm: the
// journal keeps each command for as long (journal.Keep). A command that has
// expired by the agent's clock is refused at once, or old ones could be replayed.
const mostAhead = 25 * time.Hour

// clocks says what two clocks show, for a message about a difference.
func clocks(what string, at time.Time, whose string, now time.Time) string {
	return fmt.Sprintf("%s at %s by the control plane's clock, and %s says %s",
		what, at.UTC().Format(time.RFC3339), whose, now.UTC().Format(time.RFC3339))
}

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
		return command, refuse(RefusedExpired, nil, "%s", clocks("command expired", command.ExpiresAt, "this agent's clock", now))
	}
	if command.IssuedAt.After(now.Add(mostAhead)) {
		return command, refuse(RefusedExpired, nil, "%s, more than a day behind; set the clock that is wrong",
			clocks("command was issued", command.IssuedAt, "this agent's clock", now))
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
