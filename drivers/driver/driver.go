// Package driver is the contract between an agent and what it drives: one
// small interface per concern, the target of a call, and the errors that a
// caller branches on. It imports metal only; each driver imports it, and the
// registry (package drivers) joins them.
package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"ferrule/metal"
)

// Credentials log a driver in at a BMC. They exist for the time of one call
// and print as asterisks everywhere.
type Credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

const redacted = "******"

// String keeps the password out of formatted text.
func (c Credentials) String() string { return c.Username + ":" + redacted }

// GoString keeps the password out of %#v.
func (c Credentials) GoString() string { return c.String() }

// LogValue keeps the password out of logs.
func (c Credentials) LogValue() slog.Value {
	return slog.GroupValue(slog.String("username", c.Username), slog.String("password", redacted))
}

// MarshalJSON keeps the password out of any document: credentials are only
// ever read from JSON.
func (c Credentials) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"username": c.Username, "password": redacted})
}

// ParseCredentials reads what a credentialsRef resolves to: an object
// {"username": "...", "password": "..."}, or the bare password, whose user name
// then comes with the options. A bare password is taken byte for byte, also
// where it happens to be a number.
func ParseCredentials(secret []byte) Credentials {
	var object struct{ Username, Password *string }
	if json.Unmarshal(secret, &object) == nil && object.Password != nil {
		c := Credentials{Password: *object.Password}
		if object.Username != nil {
			c.Username = *object.Username
		}
		return c
	}
	return Credentials{Password: string(secret)}
}

// Target is what one call acts on.
type Target struct {
	Address       string // as driver_info gives it; each driver parses its own form
	Credentials   Credentials
	TLSSPKISHA256 string // hex pin of the BMC's public key; "" for none
	Options       Options
}

// Error is a failed operation: a stable code and a message for the operator,
// which names the BMC, the cause and the remedy and never holds a secret.
type Error struct {
	Code    metal.ErrorCode
	Message string
	Cause   error
}

// Error is the operator's message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error; a %w in format becomes its cause.
func Errorf(code metal.ErrorCode, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// CodeOf is the code of err: a driver's own, or bmc-error for one that no
// driver named.
func CodeOf(err error) metal.ErrorCode {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return metal.CodeUnreachable
	}
	return metal.CodeBMCError
}

// Descriptor is one row of the registry's table.
type Descriptor struct {
	Name       string
	Operations Operations
	Options    []Option
	// Check looks at a target without reaching it: address and options.
	Check func(Target) error
	// Close ends what the driver holds (sessions, connections).
	Close func(context.Context) error
}
