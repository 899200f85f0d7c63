package trust

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Bundle is what an agent trusts: it is given at enrolment and again with each
// renewal, and outranks whatever the gateway says later.
type Bundle struct {
	CA           string     `json:"ca"`           // PEM: whom the agent believes to be the control plane
	CommandRoots string     `json:"commandRoots"` // PEM: who may certify keys that sign commands
	Approvals    *Approvals `json:"approvals,omitempty"`
}

// Approvals are the keys whose holders must agree to destructive commands, and
// how many of them. Without keys nothing is held.
type Approvals struct {
	Keys   []string `json:"keys"` // public keys, PEM
	Quorum int      `json:"quorum"`
}

func (a *Approvals) required() bool { return a != nil && len(a.Keys) > 0 }

// CAPool is the pool of the bundle's CA certificates.
func (b Bundle) CAPool() (*x509.CertPool, error) { return poolFromPEM(b.CA) }

func poolFromPEM(text string) (*x509.CertPool, error) {
	certs, err := certificatesFromPEM(text)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

func certificatesFromPEM(text string) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("PEM block is %q, want CERTIFICATE", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate: %w", err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("no certificate in PEM text")
	}
	return certs, nil
}

func certificateToPEM(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
