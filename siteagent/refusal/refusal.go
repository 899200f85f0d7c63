// Package refusal is the error of an operation that the agent itself carries
// out: a stable code for the control plane and a text for the operator that
// never holds a secret. It must not import anything but metal.
package refusal

import (
	"errors"
	"fmt"

	"ferrule/metal"
)

// Error says why an operation was not done.
type Error struct {
	Code metal.ErrorCode
	Text string
}

// Error is the text for the operator.
func (e *Error) Error() string { return e.Text }

// New makes an Error; causes are put into the text, because the control plane
// gets nothing else.
func New(code metal.ErrorCode, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

// CodeOf is the code of the Error in err's chain, fallback where there is none.
func CodeOf(err error, fallback metal.ErrorCode) metal.ErrorCode {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return fallback
}
