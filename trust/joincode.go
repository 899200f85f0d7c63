package trust

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"time"
)

// JoinCode is what an operator carries to a new site: where the control plane
// is, how to know it, and a secret that works once.
type JoinCode struct {
	Address     string // host:port of the link
	Fingerprint string // of the CA's public key, SHA-256 in hex
	Expires     time.Time
	secret      []byte
}

const (
	joinSecretSize = 16
	maxJoinCode    = 1024
)

// joinText is the code's inner form.
type joinText struct {
	Version     int    `json:"v"`
	Address     string `json:"a"`
	Fingerprint []byte `json:"f"`
	Secret      []byte `json:"s"`
	Expires     int64  `json:"e"` // Unix seconds
}

// NewJoinCode makes a code for the control plane at address.
func (c *CA) NewJoinCode(address string, life time.Duration) (JoinCode, error) {
	secret := make([]byte, joinSecretSize)
	_, _ = rand.Read(secret)
	code := JoinCode{
		Address: address, Fingerprint: c.Fingerprint(), secret: secret,
		Expires: c.now().Add(life).Truncate(time.Second).UTC(),
	}
	_, err := ParseJoinCode(code.Encode())
	return code, err
}

// Encode is the code as it is handed over. It holds the secret.
func (j JoinCode) Encode() string {
	fingerprint, _ := hex.DecodeString(j.Fingerprint)
	text, err := json.Marshal(joinText{1, j.Address, fingerprint, j.secret, j.Expires.Unix()})
	if err != nil {
		return "" // strings, bytes and numbers always marshal
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// ParseJoinCode reads a code; blanks around it are let be.
func ParseJoinCode(code string) (JoinCode, error) {
	malformed := func(cause error, why string) (JoinCode, error) {
		return JoinCode{}, refuse(RefusedMalformed, cause, "join code cannot be read: %s; copy it again in full", why)
	}
	code = strings.TrimSpace(code)
	if len(code) > maxJoinCode {
		return malformed(nil, "it is too long")
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil {
		return malformed(err, "it is not base64url")
	}
	var inner joinText
	if err := json.Unmarshal(text, &inner); err != nil {
		return malformed(err, "its content is broken")
	}
	if inner.Version != 1 {
		return malformed(nil, "it is of another version")
	}
	host, port, err := net.SplitHostPort(inner.Address)
	if err != nil || host == "" || port == "" || strings.ContainsAny(inner.Address, "/@?# \t\r\n") {
		return malformed(err, "its address is not host:port")
	}
	if len(inner.Fingerprint) != sha256.Size || len(inner.Secret) != joinSecretSize {
		return malformed(nil, "fingerprint or secret is missing")
	}
	return JoinCode{
		Address: inner.Address, Fingerprint: hex.EncodeToString(inner.Fingerprint),
		Expires: time.Unix(inner.Expires, 0).UTC(), secret: inner.Secret,
	}, nil
}

// Secret is the part that proves the right to join, as it is sent.
func (j JoinCode) Secret() Secret {
	return NewSecret([]byte(base64.RawURLEncoding.EncodeToString(j.secret)))
}

// SecretHash is what the control plane keeps of the code.
func (j JoinCode) SecretHash() string { return JoinSecretHash(string(j.Secret().Reveal())) }

// JoinSecretHash is the hash of a secret as it is sent. The secret is random
// and long, so a plain hash does.
func JoinSecretHash(sent string) string {
	sum := sha256.Sum256([]byte(sent))
	return hex.EncodeToString(sum[:])
}

// String shows what is not secret.
func (j JoinCode) String() string {
	return "join code for " + j.Address + " until " + j.Expires.Format(time.RFC3339)
}

// GoString shows what is not secret.
func (j JoinCode) GoString() string { return j.String() }

// LogValue shows what is not secret.
func (j JoinCode) LogValue() slog.Value { return slog.StringValue(j.String()) }
