package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/trust"
)

type agentHandler func(w http.ResponseWriter, r *http.Request, from trust.Signer) error

// forAgent lets pass agents whose certificate is in force.
func (g *Gateway) forAgent(h agentHandler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		from, err := trust.AgentOf(r.TLS)
		if err != nil {
			return err
		}
		if err := g.admit(r.Context(), from); err != nil {
			return err
		}
		return h(w, r, from)
	}
}

// admit checks that the agent has not been removed and that the certificate is
// one of its own. The first use of a newer one ends the older.
func (g *Gateway) admit(ctx context.Context, from trust.Signer) error {
	agent, err := g.Agents.Agent(ctx, from.Agent.ID)
	if metal.ReasonOf(err) == metal.NotFound {
		return &trust.Refusal{Code: trust.RefusedRevoked, Text: "agent " + from.Agent.ID + " is not known here, or no longer"}
	}
	if err != nil {
		return fmt.Errorf("look up agent %s: %w", from.Agent.ID, err)
	}
	switch slices.Index(agent.Keys, from.KeyHash) {
	case -1:
		return &trust.Refusal{
			Code: link.ProblemSuperseded,
			Text: "this certificate of agent " + from.Agent.ID + " is no longer in force",
		}
	case 0:
		return nil
	}
	if err := g.Agents.RetireKeysBefore(ctx, from.Agent.ID, from.KeyHash); err != nil {
		return fmt.Errorf("retire keys of agent %s: %w", from.Agent.ID, err)
	}
	return nil
}

func (g *Gateway) enroll(w http.ResponseWriter, r *http.Request) error {
	var body link.EnrollRequest
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	request, err := trust.ReadAgentRequest(body.Request)
	if err != nil {
		return err
	}
	name, err := g.Agents.Join(r.Context(), Joining{
		SecretHash: trust.JoinSecretHash(body.Secret), KeyHash: request.KeyHash(),
		NewID: uuid.NewString(), Hello: body.Hello, At: g.CA.Now(),
	})
	if metal.ReasonOf(err) == metal.Forbidden {
		return &trust.Refusal{
			Code: trust.RefusedJoinCode, Cause: err,
			Text: "the join code is unknown, expired or was used before; make a new one",
		}
	}
	if err != nil {
		return fmt.Errorf("spend join code: %w", err)
	}
	certificate, err := g.CA.IssueAgent(name, request)
	if err != nil {
		return err
	}
	g.log.InfoContext(r.Context(), "agent joined", "agent", name.ID, "site", name.Site, "hostname", body.Hello.Hostname)
	writeJSON(w, http.StatusOK, link.EnrollAnswer{
		AgentID: name.ID, Site: name.Site, Certificate: certificate, Bundle: g.CA.Bundle(),
	})
	return nil
}

func (g *Gateway) renew(w http.ResponseWriter, r *http.Request, from trust.Signer) error {
	var body link.RenewRequest
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	request, err := trust.ReadAgentRequest(body.Request)
	if err != nil {
		return err
	}
	certificate, err := g.CA.IssueAgent(from.Agent, request)
	if err != nil {
		return err
	}
	if err := g.Agents.AddKey(r.Context(), from.Agent.ID, request.KeyHash()); err != nil {
		return fmt.Errorf("record new key of agent %s: %w", from.Agent.ID, err)
	}
	writeJSON(w, http.StatusOK, link.RenewAnswer{Certificate: certificate, Bundle: g.CA.Bundle()})
	return nil
}
