package metal

import (
	"errors"
	"fmt"
)

// Reason is why the domain refuses a request. Each has one HTTP status in the
// API (Ironic: common/exception).
type Reason string

// The reasons.
const (
	Invalid       Reason = "invalid"        // 400
	Forbidden     Reason = "forbidden"      // 403
	NotFound      Reason = "not found"      // 404
	NotAcceptable Reason = "not acceptable" // 406
	Conflict      Reason = "conflict"       // 409
	Locked        Reason = "locked"         // 409, names the holder
	Unavailable   Reason = "unavailable"    // 503
	Outage        Reason = "outage"         // 503: the database
)

// Error is a refusal: Text is for the user and says what was wrong, where, and
// what to do next; Cause is for the log only.
type Error struct {
	Reason Reason
	Text   string
	Cause  error
}

// Error is the text for the user.
func (e *Error) Error() string { return e.Text }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes a refusal.
func Errorf(r Reason, format string, args ...any) *Error {
	return &Error{Reason: r, Text: fmt.Sprintf(format, args...)}
}

// ReasonOf is the reason of a refusal somewhere in err's chain, "" where there
// is none.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}
