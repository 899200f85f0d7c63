// Package link is the wire between the control plane and its sites: HTTPS with
// client certificates, dialled by the site's agent, as openapi/agent.yaml
// describes it. This package holds the shapes both halves share; gateway is the
// control plane's half, client the agent's. It imports metal and trust only.
package link

import (
	"time"

	"ferrule/metal"
	"ferrule/trust"
)

// DefaultPort is where the control plane listens for agents.
const DefaultPort = 6386

// Paths of the wire.
const (
	PathEnroll       = "/agent/v1/enroll"
	PathRenew        = "/agent/v1/renew"
	PathSession      = "/agent/v1/session"
	PathResults      = "/agent/v1/results"
	PathSecrets      = "/agent/v1/secrets"
	PathObservations = "/agent/v1/observations"
	PathRelay        = "/agent/v1/relay" // followed by the relayed path
)

// ParamAfter is the session's resume cursor in the query.
const ParamAfter = "after"

// Content types of the wire.
const (
	TypeJSON  = "application/json"
	TypeJOSE  = "application/jose"
	TypeLines = "application/x-ndjson"
)

// HeaderRelayHost carries the Host that the ramdisk asked for, so that links in
// the answer lead back to the relay.
const HeaderRelayHost = "Ferrule-Relay-Host"

// ParamInspectionProof is the argument, in the query of relayed inspection data,
// that shows that they come from the node's own ramdisk. The API does not see it
// among its arguments.
const ParamInspectionProof = "inspection_proof"

// Limits of the wire.
const (
	MaxRelayBody = 16 << 20 // inventories are large
	MaxBody      = 4 << 20  // of every other request
	MaxLine      = 4 << 20  // of the session's response
)

// DefaultKeepAlive is how often an idle session says that it lives.
const DefaultKeepAlive = 5 * time.Second

// Hello is what an agent tells of itself when it joins and at each session.
type Hello struct {
	Version       string            `json:"version"`
	Hostname      string            `json:"hostname"`
	Labels        map[string]string `json:"labels,omitempty"`
	HardwareTypes []string          `json:"hardwareTypes"` // those it can serve
	// Operations by driver; those of the agent itself stand under "".
	Operations map[string][]metal.Operation `json:"operations"`
}

// EnrollRequest spends a join code.
type EnrollRequest struct {
	Secret  string `json:"secret"` // of the join code
	Request string `json:"certificateRequest"`
	Hello   Hello  `json:"hello"`
}

// EnrollAnswer makes the sender an agent.
type EnrollAnswer struct {
	AgentID     string       `json:"agentId"`
	Site        string       `json:"site"`
	Certificate string       `json:"certificate"`
	Bundle      trust.Bundle `json:"bundle"`
}

// RenewRequest asks for another certificate, for a new key.
type RenewRequest struct {
	Request string `json:"certificateRequest"`
}

// RenewAnswer is the new certificate and the bundle of the day.
type RenewAnswer struct {
	Certificate string       `json:"certificate"`
	Bundle      trust.Bundle `json:"bundle"`
}

// Line is one line of the session's response: exactly one of its parts is set.
type Line struct {
	Welcome   *Welcome   `json:"welcome,omitempty"` // the first line
	Seq       int64      `json:"seq,omitempty"`
	Envelope  string     `json:"envelope,omitempty"` // the command, signed
	KeepAlive *time.Time `json:"keepalive,omitempty"`
}

// Welcome opens a session.
type Welcome struct {
	SessionID        string    `json:"sessionId"`
	KeepAliveSeconds float64   `json:"keepAliveSeconds"`
	Time             time.Time `json:"time"` // the control plane's clock
}

// ObservationKind is the sort of an observation.
type ObservationKind string

// ObservedPower is what the power watch saw.
const ObservedPower ObservationKind = "power"

// Observation is something that an agent saw without being asked. Sent twice
// it means the same.
type Observation struct {
	Kind     ObservationKind `json:"kind"`
	NodeUUID string          `json:"nodeUuid"`
	// PowerState is empty with an ErrorCode where the BMC could not be read.
	PowerState metal.PowerState `json:"powerState,omitempty"`
	Health     metal.Health     `json:"health,omitempty"` // seen with the power
	ErrorCode  metal.ErrorCode  `json:"errorCode,omitempty"`
	Message    string           `json:"message,omitempty"`
	SeenAt     time.Time        `json:"seenAt"`
}

// Observations is the body of a post of observations.
type Observations struct {
	Observations []Observation `json:"observations"`
}

// Problem is the body of every answer that is not a success.
type Problem struct {
	Code    trust.RefusalCode `json:"code"`
	Message string            `json:"message"`
}

// Codes of problems that are no refusal of trust's.
const (
	ProblemNotFound trust.RefusalCode = "not-found"
	ProblemTooLarge trust.RefusalCode = "too-large"
	ProblemInternal trust.RefusalCode = "internal"
	// ProblemSuperseded: the agent has a newer certificate than the one used.
	ProblemSuperseded trust.RefusalCode = "certificate-superseded"
)
