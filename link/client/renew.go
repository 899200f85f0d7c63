package client

import (
	"context"
	"fmt"
	"time"

	"ferrule/link"
	"ferrule/trust"
)

// renewRetry is how long a session goes on before a failed renewal is tried
// again.
const renewRetry = time.Hour

// untilRenewal is how long the session may last before the certificate is due.
func (c *Client) untilRenewal() time.Duration {
	until := time.Until(c.renewAt())
	if until <= 0 {
		return renewRetry // it has just been tried
	}
	return until
}

// renewAt is decided once for each credential, so that its jitter holds still.
func (c *Client) renewAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.due.IsZero() {
		c.due = c.options.RenewAt(c.identity.credential)
	}
	return c.due
}

// renewIfDue replaces key and certificate when their time has come.
func (c *Client) renewIfDue(ctx context.Context) error {
	if time.Now().Before(c.renewAt()) {
		return nil
	}
	keyPEM, err := trust.NewAgentKey()
	if err != nil {
		return err
	}
	requestPEM, err := trust.NewAgentRequest(keyPEM)
	if err != nil {
		return err
	}
	var answer link.RenewAnswer
	err = exchange(ctx, c.http(), c.base+link.PathRenew, link.RenewRequest{Request: string(requestPEM)}, &answer)
	if err != nil {
		return fmt.Errorf("renew certificate: %w", err)
	}
	old := c.Identity()
	record := old.record
	record.Key, record.Certificate, record.Bundle = string(keyPEM), answer.Certificate, answer.Bundle
	id, err := newIdentity(old.dir, record)
	if err != nil {
		return fmt.Errorf("renew certificate: %w", err)
	}
	// Saved before used: the old certificate is in force until the new one is seen.
	if err := id.save(); err != nil {
		return err
	}
	if err := c.adopt(id); err != nil {
		return err
	}
	c.log.InfoContext(ctx, "certificate renewed", "ends", id.credential.Certificate().NotAfter)
	return nil
}
