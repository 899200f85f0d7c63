package gateway

import (
	"fmt"
	"net/http"

	"ferrule/failpoint"
	"ferrule/link"
	"ferrule/metal"
	"ferrule/trust"
)

func (g *Gateway) result(w http.ResponseWriter, r *http.Request, from trust.Signer) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	envelope := string(body)
	result, signer, err := g.CA.OpenResult(envelope)
	if err != nil {
		return err
	}
	if signer.Agent.ID != from.Agent.ID {
		return &trust.Refusal{
			Code: trust.RefusedAgent,
			Text: fmt.Sprintf("result is signed by agent %q in the session of %q", signer.Agent.ID, from.Agent.ID),
		}
	}
	if signer.KeyHash != from.KeyHash {
		if err := g.admit(r.Context(), signer); err != nil {
			return err
		}
	}
	failpoint.Hit("gateway-result-taken")
	if err := g.Results.SaveResult(r.Context(), from.Agent.ID, result.Storable(), envelope); err != nil {
		return fmt.Errorf("save result of command %s: %w", result.CommandID, err)
	}
	failpoint.Hit("gateway-result-stored")
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}

func (g *Gateway) secret(w http.ResponseWriter, r *http.Request, from trust.Signer) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	answer, err := g.releaser.Release(r.Context(), from.Agent.ID, string(body))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", link.TypeJOSE)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(answer)) // a lost answer is asked for again
	return nil
}

// maxObservations bounds one post: a site with more nodes sends several.
const maxObservations = 10_000

func (g *Gateway) observe(w http.ResponseWriter, r *http.Request, from trust.Signer) error {
	var body link.Observations
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if len(body.Observations) > maxObservations {
		return metal.Errorf(metal.Invalid, "more than %d observations in one post", maxObservations)
	}
	for i, o := range body.Observations {
		if o.Kind != link.ObservedPower || o.NodeUUID == "" || o.SeenAt.IsZero() {
			return metal.Errorf(metal.Invalid, "observation %d is of an unknown kind, or names no node or time", i)
		}
	}
	if err := g.Observations.Observed(r.Context(), from.Agent, body.Observations); err != nil {
		return fmt.Errorf("take observations of agent %s: %w", from.Agent.ID, err)
	}
	writeJSON(w, http.StatusOK, struct{}{})
	return nil
}
