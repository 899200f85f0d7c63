// Package relay lets the ramdisks of a provisioning network reach the few
// calls of the API that they need, through the agent's link. Whatever else is
// asked is not there. It must not import drivers.
package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"ferrule/link"
)

// Forward passes a request on to the control plane and gives its answer.
type Forward func(context.Context, *http.Request) (*http.Response, error)

// Limits of a relayed call.
const (
	maxHeartbeat = 1 << 20
	maxInventory = link.MaxRelayBody
	callTimeout  = time.Minute
	bodyTimeout  = 30 * time.Second // for a small body, or the beginning of a longer one
	maxSmall     = 64 << 10         // a body up to here is read before its call takes a place
)

// route is one call that ramdisks make.
type route struct {
	method    string
	path      *regexp.Regexp // without a trailing slash
	maxBody   int64
	heartbeat bool
}

// routes is the whole list (ironic-python-agent: ironic_api_client, inspector).
var routes = []route{
	{http.MethodGet, regexp.MustCompile(`^$`), 0, false},
	{http.MethodGet, regexp.MustCompile(`^/v1$`), 0, false},
	{http.MethodGet, regexp.MustCompile(`^/v1/lookup$`), 0, false},
	{http.MethodPost, regexp.MustCompile(`^/v1/heartbeat/[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,254}$`), maxHeartbeat, true},
	{http.MethodPost, regexp.MustCompile(`^/v1/continue_inspection$`), maxInventory, false},
}

// headers are those of a ramdisk's request that mean something to the API.
// None is added: a missing version header says which answer is wanted.
var headers = []string{
	"X-Openstack-Ironic-Api-Version", "Openstack-Api-Version", "X-Openstack-Request-Id",
	"Content-Type", "Accept", "User-Agent",
}

// Callback refuses the call-back address that a ramdisk gives, calling from an
// address of its own.
type Callback func(callback string, from netip.Addr) error

// Handler serves the relay.
type Handler struct {
	forward Forward
	check   Callback
	log     *slog.Logger

	calls   *limit // of all kinds, those whose body is being read among them
	whole   *limit // calls on their way whose body is here
	streams *limit // calls on their way with a longer body
}

// New makes a relay over forward.
func New(forward Forward, check Callback, log *slog.Logger) *Handler {
	return &Handler{
		forward: forward, check: check, log: log,
		calls: newLimit(1024, 32), whole: newLimit(64, 16), streams: newLimit(16, 4),
	}
}

// ServeHTTP relays one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, ok := find(r.Method, r.URL.EscapedPath())
	if !ok {
		complain(w, http.StatusNotFound, "Not Found")
		return
	}
	if r.ContentLength > to.maxBody && to.maxBody > 0 {
		complain(w, http.StatusRequestEntityTooLarge, "Request body is too large")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	peer := peerOf(r)
	leave, err := h.calls.take(ctx, peer)
	if err != nil {
		h.unavailable(w, r, err)
		return
	}
	defer leave()
	out := outgoing(ctx, w, r, to)
	kind := h.whole
	if to.maxBody > 0 {
		long, err := readAhead(w, out)
		if err != nil {
			complain(w, http.StatusRequestTimeout, "The request body did not come")
			return
		}
		if long {
			kind = h.streams
		}
	}
	if leave, err = kind.take(ctx, peer); err != nil {
		h.unavailable(w, r, err)
		return
	}
	defer leave()
	if to.heartbeat {
		if err := h.checkHeartbeat(out, r.RemoteAddr); err != nil {
			h.refuseHeartbeat(w, r, err)
			return
		}
	}
	answer, err := h.forward(ctx, out)
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			complain(w, http.StatusRequestEntityTooLarge, "Request body is too large")
			return
		}
		h.unavailable(w, r, err)
		return
	}
	defer answer.Body.Close()
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(callTimeout))    // a writer without deadlines (in a test) is as good
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may go on
	for name, values := range link.EndToEnd(answer.Header) {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		h.log.Log(ctx, severity(r), "answer to a ramdisk broke off", "path", r.URL.Path, "error", err)
	}
}

// readAhead reads a small body whole, and the beginning of a longer one, so that
// a slow sender keeps no place from the others.
func readAhead(w http.ResponseWriter, out *http.Request) (long bool, err error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a writer without deadlines (in a test) is as good
	head, err := io.ReadAll(io.LimitReader(out.Body, maxSmall+1))
	if err != nil {
		return false, err
	}
	if len(head) <= maxSmall {
		_ = control.SetReadDeadline(time.Time{})
		out.ContentLength, out.Body = int64(len(head)), io.NopCloser(bytes.NewReader(head))
		return false, nil
	}
	_ = control.SetReadDeadline(time.Now().Add(callTimeout))
	rest := out.Body
	out.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), rest), rest}
	return true, nil
}

// find is the route of a call; a trailing slash makes no difference.
func find(method, escapedPath string) (route, bool) {
	path := strings.TrimSuffix(escapedPath, "/")
	for _, to := range routes {
		if to.method == method && to.path.MatchString(path) {
			return to, true
		}
	}
	return route{}, false
}

// outgoing is the request as it goes on: nothing but what the route needs.
func outgoing(ctx context.Context, w http.ResponseWriter, r *http.Request, to route) *http.Request {
	out := (&http.Request{
		Method: r.Method, URL: &url.URL{Path: r.URL.Path, RawQuery: r.URL.RawQuery}, Header: http.Header{},
		Host: r.Host, // links in the answer lead back here
	}).WithContext(ctx)
	for _, name := range headers {
		if values, ok := r.Header[name]; ok {
			out.Header[name] = values
		}
	}
	if to.maxBody > 0 {
		out.ContentLength = r.ContentLength
		out.Body = http.MaxBytesReader(w, r.Body, to.maxBody)
	}
	return out
}

// unavailable asks the ramdisk to come back: it repeats calls that end so.
func (h *Handler) unavailable(w http.ResponseWriter, r *http.Request, cause error) {
	// The query may name what it looks for; the path is enough here.
	h.log.Log(r.Context(), severity(r), "a ramdisk's call could not be passed on", "path", r.URL.Path, "from", r.RemoteAddr, "error", cause)
	w.Header().Set("Retry-After", "5")
	complain(w, http.StatusServiceUnavailable, "The control plane cannot be reached from this site at present")
}

// severity is that of a call that failed. A machine that is switched off in the
// middle of one has gone, which is no fault.
func severity(r *http.Request) slog.Level {
	if r.Context().Err() != nil {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// complain answers in the form of Ironic's errors.
func complain(w http.ResponseWriter, status int, text string) {
	body, err := json.Marshal(map[string]any{"error_message": map[string]any{
		"faultcode": faultCode(status), "faultstring": text, "debuginfo": nil,
	}})
	if err != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // who asked may be gone
}

func faultCode(status int) string {
	if status >= http.StatusInternalServerError {
		return "Server"
	}
	return "Client"
}
