package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"ferrule/api/policy"
	"ferrule/api/status"
	"ferrule/metal"
)

// fault is an error as the client sees it. Routed ones were raised while
// routing and have another shape in the body (Ironic: pecan.abort against
// method.format_exception).
type fault struct {
	Status int
	Text   string
	Routed bool
	Allow  *string // the Allow header, where the answer has one
	Ranged bool    // a version outside of the range: the range's headers stay
	Cause  error   // for the log
}

func (f *fault) Error() string { return f.Text }
func (f *fault) Unwrap() error { return f.Cause }

func faultf(status int, format string, args ...any) *fault {
	return &fault{Status: status, Text: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *fault {
	return faultf(http.StatusBadRequest, format, args...)
}

func notFound(format string, args ...any) *fault {
	return faultf(http.StatusNotFound, format, args...)
}

func conflict(format string, args ...any) *fault {
	return faultf(http.StatusConflict, format, args...)
}

func notAcceptable() *fault {
	return faultf(http.StatusNotAcceptable, "Request not acceptable in this API version.")
}

func nodeNotFound(ident string) *fault { return notFound("Node %s could not be found.", ident) }

// routeFault is a fault of the routing family; Ironic has no word to say about
// these.
func routeFault(status int) *fault { return &fault{Status: status, Routed: true} }

// notAllowed is a 405 of the routing family with the methods that there are.
func notAllowed(methods string) *fault {
	return &fault{Status: http.StatusMethodNotAllowed, Routed: true, Allow: &methods}
}

// asFault is err as the client may see it: an error that is neither a fault nor
// a domain refusal keeps its text to the log.
func asFault(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	var e *metal.Error
	if errors.As(err, &e) {
		return &fault{Status: status.Of(e.Reason), Text: e.Text, Cause: err}
	}
	var refused *violation
	if errors.As(err, &refused) {
		return &fault{Status: http.StatusBadRequest, Text: refused.Error(), Cause: err}
	}
	var denied *policy.Denied
	if errors.As(err, &denied) {
		return &fault{Status: http.StatusForbidden, Text: denied.Error(), Cause: err}
	}
	return &fault{Status: http.StatusInternalServerError, Text: "The request failed inside the server; its log tells why.", Cause: err}
}

// body is the double-encoded JSON of the fault.
func (f *fault) body() []byte {
	var inner any
	if f.Routed {
		inner = struct {
			Code        int    `json:"code"`
			Title       string `json:"title"`
			Description string `json:"description"`
		}{f.Status, http.StatusText(f.Status), f.Text}
	} else {
		code := "Client"
		if f.Status >= 500 {
			code = "Server"
		}
		inner = struct {
			Code   string  `json:"faultcode"`
			String string  `json:"faultstring"`
			Debug  *string `json:"debuginfo"`
		}{code, f.Text, nil}
	}
	text := metal.ToJSON(inner)
	out, err := json.Marshal(map[string]string{"error_message": string(text)})
	if err != nil {
		return []byte(`{"error_message":""}`)
	}
	return out
}
