package client

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"ferrule/durable"
	"ferrule/failpoint"
	"ferrule/link"
	"ferrule/trust"
)

// Enroll spends a join code: the agent becomes known to the control plane that
// made it, and its identity is kept in dir. An enrolment whose answer was lost
// can be repeated with the same code and folder.
func Enroll(ctx context.Context, code, dir string, hello link.Hello) (*Identity, error) {
	join, err := trust.ParseJoinCode(code)
	if err != nil {
		return nil, err
	}
	if now := time.Now(); now.After(join.Expires) {
		return nil, fmt.Errorf("the join code expired at %s by the control plane's clock, and this host's clock says %s; make a new one, or set the clock right",
			join.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if err := mayReplace(dir, time.Now()); err != nil {
		return nil, err
	}
	keyPEM, requestPEM, err := joiningKey(dir)
	if err != nil {
		return nil, fmt.Errorf("make the agent's key: %w", err)
	}
	transport := newTransport(trust.JoinTLS(join.Fingerprint), nil)
	defer transport.CloseIdleConnections()
	var answer link.EnrollAnswer
	err = exchange(ctx, &http.Client{Transport: transport}, "https://"+join.Address+link.PathEnroll, link.EnrollRequest{
		Secret: string(join.Secret().Reveal()), Request: string(requestPEM), Hello: hello,
	}, &answer)
	if err != nil {
		return nil, fmt.Errorf("join the control plane at %s: %w", join.Address, err)
	}
	id, err := newIdentity(dir, identityRecord{
		AgentID: answer.AgentID, Site: answer.Site, Address: join.Address,
		Key: string(keyPEM), Certificate: answer.Certificate, Bundle: answer.Bundle,
	})
	if err != nil {
		return nil, fmt.Errorf("join the control plane at %s: %w", join.Address, err)
	}
	failpoint.Hit("join-answered")
	if err := id.save(); err != nil {
		return nil, err
	}
	failpoint.Hit("join-saved")
	return id, durable.Remove(filepath.Join(dir, joiningFile))
}
