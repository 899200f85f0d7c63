// Package ramdisk calls the API of a ramdisk (ironic-python-agent): it runs
// one command there or lists those that ran. Tokens travel in the query and
// secrets in the parameters, so no error of this package quotes an address
// with its query, a body, or a secret value. It must not import anything of
// the control plane.
package ramdisk

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

// Limits of one call (Ironic: agent_client).
const (
	requestTimeout = 60 * time.Second
	attempts       = 3
	maxAnswer      = 32 << 20 // system logs are the largest
)

// Client calls ramdisks. The zero value works.
type Client struct {
	// RetryDelay is the pause after a connection error; 0 means a second.
	RetryDelay time.Duration
	// PollInterval is the pause between two looks at a command that runs; 0
	// means two seconds.
	PollInterval time.Duration
	// MinTLS is the lowest TLS version to accept; 0 means 1.3.
	MinTLS uint16
	// Dial connects to a ramdisk; nil connects to any address.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Call is one request to a ramdisk, with its secrets in clear.
type Call struct {
	AgentURL string
	VerifyCA string // PEM; "" means the system's roots
	Token    string
	Command  string // "extension.command"; "" lists the commands
	Params   map[string]any
	Wait     bool      // for the command's end
	Until    time.Time // how long to wait for it; zero: as long as the context lasts
	Secrets  []string  // values that must not come back in an answer
}

// Do carries out one call.
func (c *Client) Do(ctx context.Context, call Call) (metal.RamdiskCallResult, error) {
	session, err := c.open(call)
	if err != nil {
		return metal.RamdiskCallResult{}, err
	}
	defer session.http.CloseIdleConnections()
	var result metal.RamdiskCallResult
	if call.Command == "" {
		result, err = session.listPatiently(ctx)
	} else {
		result, err = session.runPatiently(ctx)
		if err == nil && call.Wait {
			result, err = session.awaitEnd(ctx, result)
		}
	}
	if err != nil {
		return metal.RamdiskCallResult{}, err
	}
	maskResult(&result, append(call.Secrets, call.Token))
	return result, nil
}

// session is one call under way.
type session struct {
	Call
	http     http.Client
	endpoint string // …/v1/commands/, for errors too: it has no query
	delay    time.Duration
	poll     time.Duration
}

func (c *Client) open(call Call) (*session, error) {
	endpoint, err := commandsURL(call.AgentURL)
	if err != nil {
		return nil, err
	}
	transport, err := c.transport(call.VerifyCA)
	if err != nil {
		return nil, err
	}
	return &session{
		Call: call, endpoint: endpoint,
		delay: cmp.Or(c.RetryDelay, time.Second), poll: cmp.Or(c.PollInterval, 2*time.Second),
		http: http.Client{
			Transport: transport, Timeout: requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func (c *Client) transport(verifyCA string) (*http.Transport, error) {
	minTLS := c.MinTLS
	if minTLS == 0 {
		minTLS = tls.VersionTLS13
	}
	config := &tls.Config{MinVersion: minTLS}
	if verifyCA != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(verifyCA)) {
			return nil, refusal.New(metal.CodeCertificate, "the certificate that the ramdisk sent in its heartbeat is no PEM certificate")
		}
	}
	return &http.Transport{TLSClientConfig: config, MaxResponseHeaderBytes: 64 << 10, DialContext: c.Dial}, nil
}

// commandsURL is the address of the ramdisk's command list: the trailing slash
// matters, without it the ramdisk redirects.
func commandsURL(agentURL string) (string, error) {
	u, err := url.Parse(agentURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Contains(u.Path, "..") {
		return "", refusal.New(metal.CodeInvalidAddress, "the ramdisk's callback address is no plain http or https URL")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/")+"/v1/commands/", ""
	return u.String(), nil
}

// runPatiently posts the command. A connection that could not be made is tried
// again; after any other failure the command may be running, so the list is
// asked first (Ironic: agent_client._command).
func (s *session) runPatiently(ctx context.Context) (metal.RamdiskCallResult, error) {
	var maybeSent bool
	var failure error
	for attempt := range attempts {
		if attempt > 0 {
			if err := pause(ctx, s.delay); err != nil {
				return metal.RamdiskCallResult{}, s.lost(err, maybeSent)
			}
		}
		if maybeSent {
			found, known, err := s.findSent(ctx)
			switch {
			case known:
				return found, nil
			case refusal.CodeOf(err, "") == metal.CodeOutcomeUnknown:
				return metal.RamdiskCallResult{}, err
			case err != nil:
				failure = err
				continue
			}
		}
		result, err := s.run(ctx)
		if err == nil || refusal.CodeOf(err, "") != "" {
			return result, err
		}
		failure, maybeSent = err, !isDial(err)
	}
	return metal.RamdiskCallResult{}, s.lost(failure, maybeSent)
}

// findSent looks for the command among those that the ramdisk has: running
// means it arrived; ended means nobody can tell whether it is this one or one
// before it.
func (s *session) findSent(ctx context.Context) (metal.RamdiskCallResult, bool, error) {
	list, err := s.list(ctx)
	if err != nil || len(list.Commands) == 0 {
		return metal.RamdiskCallResult{}, false, err
	}
	last := list.Commands[len(list.Commands)-1]
	switch {
	case last.Name != s.commandName():
		return metal.RamdiskCallResult{}, false, nil
	case last.Status == metal.RamdiskRunning:
		return metal.RamdiskCallResult{Command: &last}, true, nil
	default:
		return metal.RamdiskCallResult{}, false, refusal.New(metal.CodeOutcomeUnknown,
			"the connection to the ramdisk at %s broke while %s was sent, and a command of that name has ended since; look at its result", s.endpoint, s.Command)
	}
}

// commandName is the command as the ramdisk lists it: without its extension.
func (s *session) commandName() string {
	_, name, found := strings.Cut(s.Command, ".")
	if !found {
		return s.Command
	}
	return name
}

func (s *session) listPatiently(ctx context.Context) (metal.RamdiskCallResult, error) {
	var failure error
	for attempt := range attempts {
		if attempt > 0 {
			if err := pause(ctx, s.delay); err != nil {
				return metal.RamdiskCallResult{}, s.lost(err, false)
			}
		}
		result, err := s.list(ctx)
		if err == nil || refusal.CodeOf(err, "") != "" {
			return result, err
		}
		failure = err
	}
	return metal.RamdiskCallResult{}, s.lost(failure, false)
}

// lost is the error after the last attempt.
func (s *session) lost(cause error, maybeSent bool) error {
	if maybeSent {
		return refusal.New(metal.CodeOutcomeUnknown, "no answer from the ramdisk at %s, which may have taken %s: %s", s.endpoint, s.Command, describe(cause))
	}
	var unknown *tls.CertificateVerificationError
	if errors.As(cause, &unknown) {
		return refusal.New(metal.CodeCertificate, "the ramdisk at %s shows another certificate than the one in its heartbeat: %s", s.endpoint, describe(cause))
	}
	return refusal.New(metal.CodeUnreachable, "the ramdisk at %s cannot be reached: %s; check that this agent can reach the provisioning network", s.endpoint, describe(cause))
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *session) run(ctx context.Context) (metal.RamdiskCallResult, error) {
	params := s.Params
	if params == nil {
		params = map[string]any{}
	}
	body, err := json.Marshal(map[string]any{"name": s.Command, "params": params})
	if err != nil {
		return metal.RamdiskCallResult{}, refusal.New(metal.CodeInvalidArgs, "the parameters of %s cannot be written as JSON", s.Command)
	}
	query := url.Values{"wait": {"false"}}
	if s.Wait {
		query.Set("wait", "true")
	}
	answer, err := s.exchange(ctx, http.MethodPost, query, body)
	if err != nil || answer.busy {
		return metal.RamdiskCallResult{Busy: answer.busy}, err
	}
	var command metal.RamdiskCommand
	if err := s.decode(answer.body, &command); err != nil {
		return metal.RamdiskCallResult{}, err
	}
	return metal.RamdiskCallResult{Command: &command}, nil
}

func (s *session) list(ctx context.Context) (metal.RamdiskCallResult, error) {
	answer, err := s.exchange(ctx, http.MethodGet, url.Values{}, nil)
	if err != nil || answer.busy {
		return metal.RamdiskCallResult{Busy: answer.busy}, err
	}
	var list struct {
		Commands []metal.RamdiskCommand `json:"commands"`
	}
	if err := s.decode(answer.body, &list); err != nil {
		return metal.RamdiskCallResult{}, err
	}
	return metal.RamdiskCallResult{Commands: list.Commands}, nil
}

func (s *session) decode(body []byte, v any) error {
	if err := json.Unmarshal(metal.StorableJSON(body), v); err != nil {
		return refusal.New(metal.CodeBMCError, "the ramdisk at %s answered with something that is no command result", s.endpoint)
	}
	return nil
}

// answer is a ramdisk's 200, or its word that it is busy.
type answer struct {
	body []byte
	busy bool
}

// exchange sends one request. Its error is a refusal when the ramdisk has
// answered, and a connection's error, without any address, when it has not.
func (s *session) exchange(ctx context.Context, method string, query url.Values, body []byte) (answer, error) {
	query.Set("agent_token", s.Token)
	req, err := http.NewRequestWithContext(ctx, method, s.endpoint+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return answer{}, refusal.New(metal.CodeInvalidAddress, "the ramdisk's callback address makes no request")
	}
	req.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return answer{}, withoutURL(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return answer{}, withoutURL(err)
	}
	if len(data) > maxAnswer {
		return answer{}, refusal.New(metal.CodeBMCError, "the ramdisk at %s answered with more than %d bytes", s.endpoint, maxAnswer)
	}
	return s.judge(resp.StatusCode, data)
}

// withoutURL drops the wrapper in which net/http quotes the address with the
// token.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}

// isDial reports whether the connection was never made, so that nothing can
// have been sent.
func isDial(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	var unknown *tls.CertificateVerificationError
	return errors.As(err, &unknown)
}

// describe is the cause in words, without wrappers that repeat addresses.
func describe(err error) string {
	switch {
	case err == nil:
		return "no answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time"
	default:
		return fmt.Sprint(err)
	}
}
