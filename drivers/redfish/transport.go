package redfish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stmcginnis/gofish/common"

	"ferrule/drivers/driver"
)

// pace holds every wait of the driver, so that tests can be quick.
type pace struct {
	connect       time.Duration // to open a connection
	request       time.Duration // one request, from the first byte to the last
	retryFirst    time.Duration // between attempts at a BMC that is not ready
	retryMost     time.Duration
	retryFor      time.Duration // all attempts together
	postFor       time.Duration // as long as a machine is in its self-test
	pollFirst     time.Duration // between looks at a state or a task
	pollMost      time.Duration
	settle        time.Duration // for a write to show in a read
	taskFor       time.Duration // an asynchronous write
	conflictEvery time.Duration // a power-on refused while the BMC settles
}

func defaultPace() pace {
	return pace{
		connect:       10 * time.Second,
		request:       60 * time.Second,
		retryFirst:    time.Second,
		retryMost:     10 * time.Second,
		retryFor:      time.Minute,
		postFor:       3 * time.Minute,
		pollFirst:     500 * time.Millisecond,
		pollMost:      2 * time.Second,
		settle:        5 * time.Second,
		taskFor:       10 * time.Minute,
		conflictEvery: 10 * time.Second,
	}
}

// maxBody bounds a BMC's answer.
const maxBody = 8 << 20

// bareRetries bounds the attempts at a read that is answered 502, 503 or 504
// without a reason.
const bareRetries = 2

// transport is what gofish's client sends through. gofish keeps the context
// of its Connect, so the context of the command that runs now, the deadline of one request, the headers and the
// login are put on here. One command at a time holds it (bmc.slot).
type transport struct {
	base  *http.Transport
	pace  pace
	creds driver.Credentials
	next  driver.Credentials // of a rotation that is under way

	command context.Context // of the command that holds the BMC
	basic   bool            // log in with each request
	token   string          // of the session, where there is one
}

func newTransport(a access, p pace, plain []netip.Prefix) (*transport, error) {
	dialer := &net.Dialer{Timeout: p.connect}
	if a.address.plain {
		dialer.Control = func(_, peer string, _ syscall.RawConn) error { return checkPeer(peer, plain) }
	}
	base := &http.Transport{
		Proxy:                  nil, // a BMC's password never goes through the environment's proxy
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    p.connect,
		DisableCompression:     true, // some servers change the ETag of a compressed answer
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
	if !a.address.plain {
		var err error
		if base.TLSClientConfig, err = tlsConfig(a); err != nil {
			return nil, err
		}
	}
	return &transport{base: base, pace: p, creds: a.credentials, command: context.Background()}, nil
}

type peerError struct{ peer string }

func (e *peerError) Error() string {
	return e.peer + " is in no network that this agent's configuration opens to plain http"
}

func checkPeer(peer string, plain []netip.Prefix) error {
	ap, err := netip.ParseAddrPort(peer)
	if err != nil || !within(ap.Addr(), plain) {
		return &peerError{peer: peer}
	}
	return nil
}

// RoundTrip sends one request, again where the BMC says that it is not ready.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = t.pace.retryFirst, t.pace.retryMost
	began, tries := time.Now(), 0
	attempt := func() (*http.Response, error) {
		resp, err := t.once(req)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		tries++
		again, after := t.notReady(req.Method, resp, tries)
		if !again || time.Since(began)+after > t.pace.patience(resp) {
			return resp, nil
		}
		if after > 0 {
			return resp, &backoff.RetryAfterError{Duration: after}
		}
		return resp, errNotReady
	}
	resp, err := backoff.Retry(t.command, attempt, backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(0))
	if resp != nil {
		return resp, nil // also when the time is over: the BMC's last word says why
	}
	return nil, err
}

var errNotReady = errors.New("the BMC is not ready")

// once sends the request under its own deadline and reads the whole answer, so
// that the connection is free again whatever becomes of it.
func (t *transport) once(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(t.command, t.pace.request)
	defer cancel()
	var sent atomic.Bool
	out := req.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}))
	out.Close = false
	out.Header.Del("Connection")
	out.Header.Set("OData-Version", "4.0")
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	switch {
	case t.token != "":
		out.Header.Set("X-Auth-Token", t.token)
	case t.basic:
		out.SetBasicAuth(t.creds.Username, t.creds.Password)
	}
	resp, err := t.base.RoundTrip(out)
	if err != nil {
		return nil, t.explain(ctx, err, sent.Load())
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, t.explain(ctx, fmt.Errorf("the answer broke off: %w", err), true)
	case len(body) > maxBody:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		body = []byte(driver.Redact(string(body), t.creds, t.next))
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

type slowError struct{ limit time.Duration }

func (e *slowError) Error() string { return fmt.Sprintf("no answer within %s", e.limit) }

// lostError is a request that was sent and whose answer never came whole.
type lostError struct{ cause error }

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// explain tells the limit of one request from the end of the whole command,
// and what was sent from what was not.
func (t *transport) explain(ctx context.Context, err error, sent bool) error {
	if t.command.Err() == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = &slowError{limit: t.pace.request}
	}
	if sent {
		return &lostError{cause: err}
	}
	return err
}

// notReady reports whether the answer says "later" and how much later, 0 for
// no word about it. Anything else is final at once.
func (t *transport) notReady(method string, resp *http.Response, tries int) (again bool, after time.Duration) {
	if resp.StatusCode < 400 {
		return false, 0
	}
	r := readRefusal(resp)
	if r.sessionLimit() {
		return false, 0
	}
	after = retryAfter(resp.Header.Get("Retry-After"))
	switch {
	case r.transient(), r.duringPOST():
		return true, after
	case resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return true, after
	case method == http.MethodGet && (resp.StatusCode == 502 || resp.StatusCode == 503 || resp.StatusCode == 504):
		return tries <= bareRetries, 0
	}
	return false, 0
}

// retryAfter reads the header in either of its forms, seconds or a date.
func retryAfter(header string) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// patience is how long such an answer is put up with.
func (p pace) patience(resp *http.Response) time.Duration {
	if readRefusal(resp).duringPOST() {
		return p.postFor
	}
	return p.retryFor
}

// readRefusal reads an error answer and leaves its body readable.
func readRefusal(resp *http.Response) *refusal {
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		body = nil
	}
	var e *common.Error
	if !errors.As(common.ConstructError(resp.StatusCode, body), &e) {
		return &refusal{status: resp.StatusCode}
	}
	return refusalOf(e)
}
