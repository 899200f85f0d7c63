package trust

import (
	"errors"
	"fmt"
)

// Refusal is a message that was understood well enough to be turned down. Text
// says why and holds no secret; Cause is for the log.
type Refusal struct {
	Code  RefusalCode
	Text  string
	Cause error
	// CommandID is what a refused command calls itself. It is not verified and
	// serves only to answer under that id.
	CommandID string
}

// RefusalCode is the stable name of a sort of refusal.
type RefusalCode string

// The sorts of refusal.
const (
	RefusedMalformed   RefusalCode = "malformed"         // not what the parser expects
	RefusedSignature   RefusalCode = "bad-signature"     // unsigned, altered, or of another type of message
	RefusedCertificate RefusalCode = "untrusted-signer"  // no chain to the root, or out of its time
	RefusedAgent       RefusalCode = "wrong-agent"       // meant for or sent by another agent
	RefusedRevoked     RefusalCode = "revoked"           // the agent was removed, or its certificate replaced
	RefusedExpired     RefusalCode = "expired"           // too late, or dated in the future
	RefusedKind        RefusalCode = "wrong-kind"        // unknown kind, or an operation outside it
	RefusedAuthority   RefusalCode = "no-authority"      // unknown authority, or a quorum is missing
	RefusedUnbound     RefusalCode = "ref-not-bound"     // no live command of the agent names the ref
	RefusedReplay      RefusalCode = "replayed"          // the request id was used before
	RefusedJoinCode    RefusalCode = "join-code-refused" // unknown, used or expired
	RefusedNoSecret    RefusalCode = "no-such-secret"    // the ref names nothing
)

// Error is the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap is the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// RefusalOf is the code of a refusal somewhere in err's chain, "" where there
// is none.
func RefusalOf(err error) RefusalCode {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Code
	}
	return ""
}

func refuse(code RefusalCode, cause error, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Text: fmt.Sprintf(format, args...), Cause: cause}
}
