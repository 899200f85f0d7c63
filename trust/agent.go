package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"ferrule/metal"
)

// AgentName is whom an agent's certificate names.
type AgentName struct {
	ID   string // UUID given at enrolment
	Site string // conductor group; "" is the default site
}

const agentScheme = "ferrule"

// uris are the names as they stand in a certificate.
func (n AgentName) uris() []*url.URL {
	return []*url.URL{
		{Scheme: agentScheme, Host: "agent", Path: "/" + n.ID},
		{Scheme: agentScheme, Host: "site", Path: "/" + n.Site},
	}
}

// AgentNameOf is whom cert names; it must be an agent's certificate.
func AgentNameOf(cert *x509.Certificate) (AgentName, error) {
	var name AgentName
	for _, u := range cert.URIs {
		if u.Scheme != agentScheme || len(u.Path) == 0 {
			continue
		}
		switch u.Host {
		case "agent":
			name.ID = u.Path[1:]
		case "site":
			name.Site = u.Path[1:]
		}
	}
	if name.ID == "" {
		return name, errors.New("certificate names no agent")
	}
	return name, nil
}

// AgentCredential is an agent's key with its certificate: what it is known by
// on the wire, and what it signs with.
type AgentCredential struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	name AgentName
}

// NewAgentKey makes a key, PEM.
func NewAgentKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// NewAgentRequest makes the request (PEM) to certify a key. The names in the
// certificate are the CA's choice, not the request's.
func NewAgentRequest(keyPEM []byte) ([]byte, error) {
	block, _ := pem.Decode(keyPEM)
	if block == nil {
		return nil, errors.New("agent's key is not PEM")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse agent's key: %w", err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("make certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// LoadAgentCredential joins a key and its certificate, both PEM.
func LoadAgentCredential(keyPEM, certPEM []byte) (*AgentCredential, error) {
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("load agent's key and certificate: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("agent's key is a %T, want ECDSA", pair.PrivateKey)
	}
	name, err := AgentNameOf(pair.Leaf)
	if err != nil {
		return nil, err
	}
	return &AgentCredential{key: key, cert: pair.Leaf, name: name}, nil
}

// Name is whom the certificate names.
func (a *AgentCredential) Name() AgentName { return a.name }

// Certificate is the certificate.
func (a *AgentCredential) Certificate() *x509.Certificate { return a.cert }

// TLS is the credential as a client presents it.
func (a *AgentCredential) TLS() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{a.cert.Raw}, PrivateKey: a.key, Leaf: a.cert}
}

// SignResult is the agent's attestation of a command's result.
func (a *AgentCredential) SignResult(result metal.CommandResult) (string, error) {
	body, err := json.Marshal(result)
	if err != nil {
		return "", fmt.Errorf("write result: %w", err)
	}
	return sign(typeResult, a.key, a.cert, body)
}

// LogValue shows the name and no key.
func (a *AgentCredential) LogValue() slog.Value {
	return slog.GroupValue(slog.String("agent", a.name.ID), slog.String("key", keyFingerprint(a.cert)))
}

// String shows the name and no key.
func (a *AgentCredential) String() string { return "agent " + a.name.ID }

// Signer is who signed a message or opened a connection: an agent, by one of
// its keys. Each certificate has a key of its own, so the key's hash stands for
// the certificate.
type Signer struct {
	Agent   AgentName
	KeyHash string // SHA-256 of the public key, in hex
}

func signerOf(cert *x509.Certificate) (Signer, error) {
	name, err := AgentNameOf(cert)
	return Signer{Agent: name, KeyHash: keyFingerprint(cert)}, err
}

func (c *CA) openAgentMessage(t messageType, envelope string) ([]byte, Signer, error) {
	message, err := parseSigned(envelope)
	if err != nil {
		return nil, Signer{}, err
	}
	body, cert, err := message.verify(t, c.pool, x509.ExtKeyUsageClientAuth, c.now())
	if err != nil {
		return nil, Signer{}, err
	}
	signer, err := signerOf(cert)
	if err != nil {
		return nil, signer, refuse(RefusedCertificate, err, "signer is no agent of this deployment")
	}
	return body, signer, nil
}

// OpenResult is the result that an agent attests, and who that is. Whether the
// key is still in force is for the caller to see.
func (c *CA) OpenResult(envelope string) (metal.CommandResult, Signer, error) {
	var result metal.CommandResult
	body, signer, err := c.openAgentMessage(typeResult, envelope)
	if err != nil {
		return result, signer, err
	}
	if err := json.Unmarshal(body, &result); err != nil {
		return result, signer, refuse(RefusedMalformed, err, "result is not as expected: %v", err)
	}
	if result.CommandID == "" {
		return result, signer, refuse(RefusedMalformed, nil, "result names no command")
	}
	return result, signer, nil
}

// RenewAt is when a credential should be replaced: a third of its life before
// its end, moved earlier by up to a tenth of its life so that a fleet enrolled
// at once does not come back at once. Jitter is from 0 to 1.
func (a *AgentCredential) RenewAt(jitter float64) time.Time {
	life := a.cert.NotAfter.Sub(a.cert.NotBefore)
	return a.cert.NotAfter.Add(-life/3 - time.Duration(jitter*float64(life)/10))
}
