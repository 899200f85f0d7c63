package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/google/uuid"

	"ferrule/api"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/trust"
)

// newJoinCode makes a code and records the hash of its secret.
func (p *plane) newJoinCode(ctx context.Context, site string, life time.Duration) (trust.JoinCode, error) {
	code, err := p.ca.NewJoinCode(p.linkAddress(), life)
	if err != nil {
		return code, err
	}
	row := store.JoinCode{ID: uuid.NewString(), SecretHash: code.SecretHash(), Site: strings.ToLower(site), ExpiresAt: code.Expires}
	return code, p.store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutSite(ctx, &store.Site{Name: row.Site}); err != nil {
			return err
		}
		return tx.InsertJoinCode(ctx, &row)
	})
}

// linkAddress is what agents dial.
func (p *plane) linkAddress() string {
	if a := p.cfg.Link.PublicAddress; a != "" {
		return a
	}
	at := address(p.cfg.Link.HostIP, p.cfg.Link.Port)
	if p.linkListener != nil {
		at = p.linkListener.Addr().String()
	}
	host, port, _ := net.SplitHostPort(at)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = p.cfg.Default.MyIP
	}
	return net.JoinHostPort(host, port)
}

// admission lets agents in and out, as the API needs it.
type admission struct{ plane *plane }

var _ api.Agents = admission{}

// NewJoinCode implements api.Agents. A process that has no listener for agents
// knows where they dial only when it is told.
func (a admission) NewJoinCode(ctx context.Context, site string, life time.Duration) (string, time.Time, error) {
	if a.plane.linkListener == nil && a.plane.cfg.Link.PublicAddress == "" {
		return "", time.Time{}, metal.Errorf(metal.Unavailable, "This API process does not know where agents dial: "+
			"set [link] public_address to the HOST:PORT of the conductors' listener, and start it again.")
	}
	if life <= 0 {
		life = a.plane.cfg.Trust.JoinCodeLifetime
	}
	code, err := a.plane.newJoinCode(ctx, site, life)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("make a join code: %w", err)
	}
	return code.Encode(), code.Expires, nil
}

// RemoveAgent implements api.Agents.
func (a admission) RemoveAgent(ctx context.Context, id string) error {
	if err := a.plane.ledger().Remove(ctx, id); err != nil {
		return err
	}
	a.plane.gateway.Drop(id)
	return nil
}
