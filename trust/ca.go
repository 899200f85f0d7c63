package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// KeyStore keeps the authority's keys: the private half sealed, the public
// half (a certificate, PEM) as it is.
type KeyStore interface {
	// TrustKey is the key under name; both halves are empty where there is none.
	TrustKey(ctx context.Context, name string) (sealed, public []byte, err error)
	// PutTrustKey stores a new key. One that is there already stays as it is,
	// and that is no error: several processes may start for the first time at once.
	PutTrustKey(ctx context.Context, name string, sealed, public []byte) error
}

// The names of the authority's keys in the KeyStore.
const (
	caKeyName   = "ca"
	rootKeyName = "command-signing-root"
)

// Lives of certificates.
const (
	rootLife   = 20 * 365 * 24 * time.Hour
	serverLife = 397 * 24 * time.Hour
	agentLife  = 90 * 24 * time.Hour
	signerLife = 90 * 24 * time.Hour
	renewEarly = 30 * 24 * time.Hour // at the server's side
	// Clocks of sites run behind, and a clock may be set back by a day: what was
	// certified before is good all the same.
	backdate = 48 * time.Hour
)

// CA is the deployment's authority. One root certifies servers and agents;
// another, trusted for nothing else, certifies the keys that sign commands, so
// that who can issue a TLS certificate cannot thereby command an agent.
type CA struct {
	tls     issuer
	command issuer
	pool    *x509.CertPool // of the first
	signers *x509.CertPool // of the second
	now     func() time.Time
}

// issuer is one root with its key.
type issuer struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// OpenCA reads the authority from keys, or makes it where there is none yet.
// A nil now is the clock.
func OpenCA(ctx context.Context, keys KeyStore, sealer *Sealer, now func() time.Time) (*CA, error) {
	if now == nil {
		now = time.Now
	}
	root, err := openIssuer(ctx, keys, sealer, caKeyName, "Ferrule CA", now())
	if err != nil {
		return nil, err
	}
	command, err := openIssuer(ctx, keys, sealer, rootKeyName, "Ferrule command signing", now())
	if err != nil {
		return nil, err
	}
	c := &CA{tls: root, command: command, pool: x509.NewCertPool(), signers: x509.NewCertPool(), now: now}
	c.pool.AddCert(root.cert)
	c.signers.AddCert(command.cert)
	return c, nil
}

func openIssuer(ctx context.Context, keys KeyStore, sealer *Sealer, name, subject string, now time.Time) (issuer, error) {
	sealed, public, err := keys.TrustKey(ctx, name)
	if err == nil && len(sealed) == 0 {
		if err = makeIssuer(ctx, keys, sealer, name, subject, now); err == nil {
			sealed, public, err = keys.TrustKey(ctx, name) // perhaps another process's
		}
	}
	if err != nil {
		return issuer{}, fmt.Errorf("open key %q of the authority: %w", name, err)
	}
	return loadIssuer(sealer, name, sealed, public)
}

func makeIssuer(ctx context.Context, keys KeyStore, sealer *Sealer, name, subject string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               pkix.Name{CommonName: subject},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(rootLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return fmt.Errorf("certify root: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	sealed, err := sealer.Seal(sealedAs(name), private)
	if err != nil {
		return err
	}
	return keys.PutTrustKey(ctx, name, sealed, []byte(certificateToPEM(der)))
}

func loadIssuer(sealer *Sealer, name string, sealed, public []byte) (issuer, error) {
	private, err := sealer.Open(sealedAs(name), sealed)
	if err != nil {
		return issuer{}, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(private)
	if err != nil {
		return issuer{}, fmt.Errorf("parse key %q of the authority: %w", name, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	certs, err := certificatesFromPEM(string(public))
	if err != nil {
		return issuer{}, fmt.Errorf("parse certificate %q of the authority: %w", name, err)
	}
	if !ok || !key.PublicKey.Equal(certs[0].PublicKey) {
		return issuer{}, fmt.Errorf("key %q of the authority does not belong to its certificate", name)
	}
	return issuer{key: key, cert: certs[0]}, nil
}

func sealedAs(name string) string { return "trust-key/" + name }

func newSerial() *big.Int {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[0] = b[0]&0x7f | 0x40 // positive, and always 16 bytes long
	return new(big.Int).SetBytes(b)
}

// PEM is the CA's certificate, for clients that are to trust this deployment.
func (c *CA) PEM() string { return certificateToPEM(c.tls.cert.Raw) }

// Pool is the pool that holds the CA's certificate.
func (c *CA) Pool() *x509.CertPool { return c.pool }

// Fingerprint is the SHA-256 of the CA's public key, in hex.
func (c *CA) Fingerprint() string { return keyFingerprint(c.tls.cert) }

func keyFingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// Now is the time by the authority's clock.
func (c *CA) Now() time.Time { return c.now() }

// Bundle is what agents of this deployment trust.
func (c *CA) Bundle() Bundle {
	return Bundle{CA: c.PEM(), CommandRoots: certificateToPEM(c.command.cert.Raw)}
}

// AgentRequest is a certificate request that has been read and proves that the
// sender holds its key.
type AgentRequest struct {
	key     *ecdsa.PublicKey
	keyHash string
}

// ReadAgentRequest reads an agent's certificate request (PEM).
func ReadAgentRequest(requestPEM string) (AgentRequest, error) {
	block, _ := pem.Decode([]byte(requestPEM))
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return AgentRequest{}, refuse(RefusedMalformed, nil, "certificate request is not PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return AgentRequest{}, refuse(RefusedMalformed, err, "certificate request cannot be read")
	}
	if err := request.CheckSignature(); err != nil {
		return AgentRequest{}, refuse(RefusedSignature, err, "certificate request is not signed by its key")
	}
	key, ok := request.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() {
		return AgentRequest{}, refuse(RefusedMalformed, nil, "certificate request must be for an ECDSA P-256 key")
	}
	sum := sha256.Sum256(request.RawSubjectPublicKeyInfo)
	return AgentRequest{key: key, keyHash: hex.EncodeToString(sum[:])}, nil
}

// KeyHash is the SHA-256 of the key to be certified, in hex: by it a repeated
// request is known.
func (r AgentRequest) KeyHash() string { return r.keyHash }

// IssueAgent certifies an agent's key; the certificate is PEM.
func (c *CA) IssueAgent(name AgentName, request AgentRequest) (certPEM string, err error) {
	if name.ID == "" {
		return "", errors.New("issue agent's certificate: no agent id")
	}
	now := c.now()
	cert, err := c.tls.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "agent " + name.ID},
		URIs:        name.uris(),
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(agentLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, request.key)
	if err != nil {
		return "", fmt.Errorf("issue certificate of agent %s: %w", name.ID, err)
	}
	return certificateToPEM(cert.Raw), nil
}

func (i issuer) issue(template *x509.Certificate, key *ecdsa.PublicKey) (*x509.Certificate, error) {
	template.SerialNumber = newSerial()
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, key, i.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
