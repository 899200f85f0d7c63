package metal

import (
	"encoding/json"
	"time"
)

// Command is one instruction to one agent. The conductor signs its exact JSON
// bytes; the agent verifies them, so no canonical form is needed.
type Command struct {
	ID        string    `json:"id"` // UUID; the journal's key: acts at most once
	Kind      Kind      `json:"kind"`
	NodeUUID  string    `json:"nodeUuid"`
	AgentID   string    `json:"agentId"` // the one agent that may run it
	IssuedAt  time.Time `json:"issuedAt"`
	ExpiresAt time.Time `json:"expiresAt"` // never begun after this
	Authority Authority `json:"authority"`
	Request   Request   `json:"request"`
}

// Authority says on whose word a command runs: none asked for, a leaf of a
// signed batch, or one use of a signed grant (design, section 11).
type Authority struct {
	Type  AuthorityType `json:"type"`
	ID    string        `json:"id,omitempty"`    // of the batch or grant
	Proof []string      `json:"proof,omitempty"` // Merkle path of a batch's leaf, base64
}

// AuthorityType is the sort of an Authority.
type AuthorityType string

// The sorts of authority.
const (
	AuthorityNone  AuthorityType = "none"
	AuthorityBatch AuthorityType = "batch"
	AuthorityGrant AuthorityType = "grant"
)

// Request is what the command asks of the agent's driver.
type Request struct {
	Driver         string          `json:"driver"`  // folder under drivers/: redfish, ipmi, fake …; "" for the agent's own operations
	Address        string          `json:"address"` // the BMC as driver_info gives it
	CredentialsRef string          `json:"credentialsRef,omitempty"`
	Operation      Operation       `json:"operation"`
	ArgsJSON       json.RawMessage `json:"argsJson,omitempty"`
	// Secrets are the secret parameters: the ref of each, by JSON pointer (RFC
	// 6901) into ArgsJSON. The agent puts the values there. This field and
	// CredentialsRef are all that is a ref in a command.
	Secrets           map[string]string `json:"secrets,omitempty"`
	TLSSPKISHA256     string            `json:"tlsSpkiSha256,omitempty"`     // hex pin of the BMC's key; "" for none
	DriverOptionsJSON json.RawMessage   `json:"driverOptionsJson,omitempty"` // canonical: sorted keys, at most 1 KiB
}

// CommandResult is what the agent attests. A BMC that refuses is a successful
// command with OK false and a stable code.
type CommandResult struct {
	CommandID  string          `json:"commandId"`
	OK         bool            `json:"ok"`
	ResultJSON json.RawMessage `json:"resultJson,omitempty"`
	ErrorCode  ErrorCode       `json:"errorCode,omitempty"`
	Message    string          `json:"message,omitempty"` // names the BMC, the cause and the remedy; never a secret
	FinishedAt time.Time       `json:"finishedAt"`
}

// ErrorCode is the stable name of why an operation failed.
type ErrorCode string

// The error codes of operations.
const (
	CodeUnreachable            ErrorCode = "unreachable"
	CodeAuthFailed             ErrorCode = "auth-failed"
	CodeCertificate            ErrorCode = "certificate-mismatch"
	CodeUnsupported            ErrorCode = "unsupported"
	CodeBMCError               ErrorCode = "bmc-error"
	CodeInvalidArgs            ErrorCode = "invalid-args"
	CodeInvalidAddress         ErrorCode = "invalid-address"
	CodeInvalidConfig          ErrorCode = "invalid-config"
	CodeCredentialsUnavailable ErrorCode = "credentials-unavailable"
	CodeUnsupportedDriver      ErrorCode = "unsupported-driver"
	CodeUnsupportedOperation   ErrorCode = "unsupported-operation"
	CodeImageUnverified        ErrorCode = "image-unverified"
	CodePinUnsupported         ErrorCode = "pin-unsupported"
	CodeOutcomeUnknown         ErrorCode = "outcome-unknown"
	CodeInvalidPayload         ErrorCode = "invalid-payload"  // operation outside its kind, unsigned, expired, other agent's
	CodeForbiddenTarget        ErrorCode = "forbidden-target" // site.httpProxy towards a BMC
)
