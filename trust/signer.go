package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"sync"

	"ferrule/metal"
)

// CommandSigner signs commands with a key of its own, which exists only in this
// process's memory and is certified by the command-signing root. The key is
// replaced well before its certificate ends. It is safe for concurrent use.
type CommandSigner struct {
	ca   *CA
	name string

	mu   sync.Mutex
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// NewCommandSigner makes the signer of the conductor with this name.
func (c *CA) NewCommandSigner(conductor string) (*CommandSigner, error) {
	s := &CommandSigner{ca: c, name: conductor}
	_, _, err := s.current()
	return s, err
}

// Sign is the envelope of command: the JWS over its JSON.
func (s *CommandSigner) Sign(command metal.Command) (string, error) {
	body, err := json.Marshal(command)
	if err != nil {
		return "", fmt.Errorf("write command %s: %w", command.ID, err)
	}
	key, cert, err := s.current()
	if err != nil {
		return "", err
	}
	return sign(typeCommand, key, cert, body)
}

func (s *CommandSigner) current() (*ecdsa.PrivateKey, *x509.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.ca.now()
	if s.cert != nil && now.Before(s.cert.NotAfter.Add(-renewEarly)) {
		return s.key, s.cert, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert, err := s.ca.command.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "conductor " + s.name},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(signerLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}, &key.PublicKey)
	if err != nil {
		return nil, nil, fmt.Errorf("certify key of conductor %s: %w", s.name, err)
	}
	s.key, s.cert = key, cert
	return key, cert, nil
}
