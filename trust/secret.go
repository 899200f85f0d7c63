package trust

import (
	"errors"
	"fmt"
	"log/slog"
)

// Secret is a credential in the clear. Whatever prints, logs or marshals it
// shows a mask; Reveal is the one way to the bytes.
type Secret struct{ value []byte }

// NewSecret wraps value, which the caller must not use any more.
func NewSecret(value []byte) Secret { return Secret{value} }

const redacted = "[secret]"

// Reveal is the credential itself.
func (s Secret) Reveal() []byte { return s.value }

// String is the mask.
func (s Secret) String() string { return redacted }

// GoString is the mask.
func (s Secret) GoString() string { return redacted }

// Format writes the mask for every verb, so that %x shows no more than %s.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON fails: a secret never becomes part of a document by accident.
func (s Secret) MarshalJSON() ([]byte, error) {
	return nil, errors.New("trust: a secret is not written as JSON")
}
