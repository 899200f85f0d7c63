// Package client is the agent's half of the link: enrolment, the session on
// which commands come, results, secrets, observations and the ramdisk's relay.
// It dials out only and keeps nothing but the agent's identity.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"ferrule/link"
	"ferrule/metal"
	"ferrule/trust"
)

// Options adjust a Client. The zero value is what an agent wants.
type Options struct {
	Logger     *slog.Logger                          // nil: slog.Default()
	Proxy      func(*http.Request) (*url.URL, error) // nil: from the environment
	Address    string                                // of the control plane; "": the one that was joined
	RetryFirst time.Duration                         // first wait after a failure; 0: 500 ms
	RetryMost  time.Duration                         // longest wait; 0: 30 s
	// RenewAt says when a certificate is to be renewed; nil: in the last third
	// of its life, at a random moment.
	RenewAt func(*trust.AgentCredential) time.Time
}

// Client speaks for one agent. It is safe for concurrent use.
type Client struct {
	options Options
	log     *slog.Logger
	base    string

	mu        sync.Mutex
	identity  *Identity
	verifier  *trust.Verifier
	transport *http.Transport
	due       time.Time     // of the identity's renewal; zero until it is asked for
	ahead     time.Duration // of the control plane's clock before this host's
}

// New makes the client of an agent that has joined. Close ends it.
func New(id *Identity, options Options) (*Client, error) {
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.RetryFirst == 0 {
		options.RetryFirst = 500 * time.Millisecond
	}
	if options.RetryMost == 0 {
		options.RetryMost = 30 * time.Second
	}
	if options.RenewAt == nil {
		options.RenewAt = func(c *trust.AgentCredential) time.Time { return c.RenewAt(rand.Float64()) }
	}
	c := &Client{
		options: options, base: "https://" + cmp.Or(options.Address, id.Address()),
		log: options.Logger.With("agent", id.AgentID()),
	}
	return c, c.adopt(id)
}

// adopt makes id the identity in use. Connections under an older one are left
// to end by themselves.
func (c *Client) adopt(id *Identity) error {
	verifier, err := trust.NewVerifier(id.record.Bundle, id.AgentID(), nil)
	if err != nil {
		return err
	}
	config, err := trust.LinkClientTLS(id.record.Bundle, id.credential)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
	c.identity, c.verifier, c.transport = id, verifier, newTransport(config, c.options.Proxy)
	c.due = time.Time{}
	return nil
}

// Close lets go of idle connections; calls under way end with their contexts.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transport.CloseIdleConnections()
}

// Identity is the identity in use: another after each renewal.
func (c *Client) Identity() *Identity {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity
}

// Verifier judges commands by the bundle in use. Ask for it anew for each
// command: a renewal may bring another bundle.
func (c *Client) Verifier() *trust.Verifier {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.verifier
}

func (c *Client) http() *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &http.Client{Transport: c.transport, CheckRedirect: refuseRedirect}
}

func refuseRedirect(*http.Request, []*http.Request) error {
	return errors.New("the control plane does not redirect")
}

// SendResult hands in a command's result, signed. It is repeated until the
// control plane has it or ctx ends; an error before that means that the
// control plane will never take it.
func (c *Client) SendResult(ctx context.Context, result metal.CommandResult) error {
	_, err := retry(ctx, c, "send result", func() (struct{}, error) {
		envelope, err := c.Identity().credential.SignResult(result)
		if err != nil {
			return struct{}{}, backoff.Permanent(err)
		}
		_, err = post(ctx, c.http(), c.base+link.PathResults, link.TypeJOSE, []byte(envelope))
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("send result of command %s: %w", result.CommandID, err)
	}
	return nil
}

// FetchSecret asks for the secret behind ref, which the command must name. It
// is repeated while the control plane cannot be reached, until ctx ends.
func (c *Client) FetchSecret(ctx context.Context, commandID, ref string) ([]byte, error) {
	secret, err := retry(ctx, c, "fetch secret", func() (trust.Secret, error) {
		secret, err := c.askSecret(ctx, commandID, ref)
		var rejected *Rejected
		if errors.As(err, &rejected) && rejected.Code == trust.RefusedExpired && c.compareClocks(rejected.Date) {
			return c.askSecret(ctx, commandID, ref) // a clock was set since the session began
		}
		return secret, err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch secret %s for command %s: %w", ref, commandID, err)
	}
	return secret.Reveal(), nil
}

// askSecret makes one request for a secret: a new one each time, for its id
// works once.
func (c *Client) askSecret(ctx context.Context, commandID, ref string) (trust.Secret, error) {
	request, err := c.Identity().credential.RequestSecret(commandID, ref, c.controlPlaneTime)
	if err != nil {
		return trust.Secret{}, backoff.Permanent(err)
	}
	answer, err := post(ctx, c.http(), c.base+link.PathSecrets, link.TypeJOSE, []byte(request.Envelope))
	if err != nil {
		return trust.Secret{}, err
	}
	return request.Open(string(answer))
}

// Observe reports what was seen. It is repeated until the control plane has it
// or ctx ends.
func (c *Client) Observe(ctx context.Context, seen []link.Observation) error {
	_, err := retry(ctx, c, "report observations", func() (struct{}, error) {
		var answer struct{}
		return answer, exchange(ctx, c.http(), c.base+link.PathObservations, link.Observations{Observations: seen}, &answer)
	})
	if err != nil {
		return fmt.Errorf("report observations: %w", err)
	}
	return nil
}

// retry repeats call with growing, jittered waits until it succeeds, fails for
// good, or ctx ends.
func retry[T any](ctx context.Context, c *Client, what string, call func() (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		value, err := call()
		if isFinal(err) || trust.RefusalOf(err) != "" {
			err = backoff.Permanent(err)
		}
		return value, err
	}, backoff.WithBackOff(c.waits()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		c.log.WarnContext(ctx, "call to the control plane failed; trying again", "call", what, "wait", wait, "error", err)
	}))
}

func (c *Client) waits() *backoff.ExponentialBackOff {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = c.options.RetryFirst, c.options.RetryMost
	return waits
}
