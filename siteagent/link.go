package siteagent

import (
	"context"
	"net/http"

	"ferrule/drivers"
	"ferrule/link"
	"ferrule/link/client"
	"ferrule/metal"
)

// Link is the agent's line to the control plane. Sends and fetches are
// repeated until they succeed, are refused for good, or their context ends.
type Link interface {
	// Run hands over each delivery, one after the other, until ctx ends.
	Run(ctx context.Context, hello link.Hello, handle func(context.Context, client.Delivery) error) error
	// Verify is the command in an envelope, or a *trust.Refusal.
	Verify(envelope string) (metal.Command, error)
	SendResult(ctx context.Context, result metal.CommandResult) error
	FetchSecret(ctx context.Context, commandID, ref string) ([]byte, error)
	Observe(ctx context.Context, seen []link.Observation) error
	Relay(ctx context.Context, r *http.Request) (*http.Response, error)
}

// OverClient is the Link of an agent that has joined.
func OverClient(c *client.Client) Link { return clientLink{c} }

type clientLink struct{ *client.Client }

// Verify judges by the bundle of the day.
func (l clientLink) Verify(envelope string) (metal.Command, error) {
	return l.Verifier().Verify(envelope)
}

// Drivers carry out what a BMC is asked for; they never fail but answer with a
// result that says so.
type Drivers interface {
	Capabilities() map[string][]metal.Operation
	Execute(ctx context.Context, req metal.Request, creds drivers.Credentials) metal.CommandResult
	Rotate(ctx context.Context, req metal.Request, current, next drivers.Credentials) metal.CommandResult
}

var _ Drivers = (*drivers.Registry)(nil)
