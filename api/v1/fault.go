package v1

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"ferrule/metal"
)

// fault is an error as the client sees it. Routed ones were raised while
// routing and have another shape in the body (Ironic: pecan.abort against
// method.format_exception).
type fault struct {
	Status int
	Text   string
	Routed bool
	Cause  error // for the log
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

// routeFault is a fault of the routing family.
func routeFault(status int) *fault {
	text := map[int]string{
		http.StatusNotFound:         "The resource could not be found.",
		http.StatusMethodNotAllowed: "The method is not allowed for this resource.",
		http.StatusBadRequest:       "The server could not comply with the request since it is malformed.",
	}[status]
	return &fault{Status: status, Text: text, Routed: true}
}

// statusOf is the one place that turns a domain reason into an HTTP status.
func statusOf(r metal.Reason) int {
	switch r {
	case metal.Invalid:
		return http.StatusBadRequest
	case metal.Forbidden:
		return http.StatusForbidden
	case metal.NotFound:
		return http.StatusNotFound
	case metal.NotAcceptable:
		return http.StatusNotAcceptable
	case metal.Conflict, metal.Locked:
		return http.StatusConflict
	case metal.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
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
		return &fault{Status: statusOf(e.Reason), Text: e.Text, Cause: err}
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
