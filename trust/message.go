package trust

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// messageType is the "typ" of a signed message, so that one kind of message
// never passes for another that the same key may sign.
type messageType string

const (
	typeCommand       messageType = "ferrule-command+jws"
	typeResult        messageType = "ferrule-result+jws"
	typeSecretRequest messageType = "ferrule-secret-request+jws"
)

// maxMessage bounds what is parsed at all.
const maxMessage = 4 << 20

// sign makes the compact JWS over exactly body, with the signer's certificate
// in its header.
func sign(t messageType, key *ecdsa.PrivateKey, cert *x509.Certificate, body []byte) (string, error) {
	opts := (&jose.SignerOptions{}).
		WithType(jose.ContentType(t)).
		WithHeader("x5c", []string{base64.StdEncoding.EncodeToString(cert.Raw)})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, opts)
	if err != nil {
		return "", fmt.Errorf("sign %s: %w", t, err)
	}
	object, err := signer.Sign(body)
	if err != nil {
		return "", fmt.Errorf("sign %s: %w", t, err)
	}
	return object.CompactSerialize()
}

// signed is a message that has been parsed but not verified.
type signed struct{ object *jose.JSONWebSignature }

func parseSigned(envelope string) (signed, error) {
	if len(envelope) > maxMessage {
		return signed{}, refuse(RefusedMalformed, nil, "message of %d bytes is over the limit of %d", len(envelope), maxMessage)
	}
	object, err := jose.ParseSignedCompact(envelope, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return signed{}, refuse(RefusedSignature, err, "message is not signed as it must be (compact JWS, ES256)")
	}
	return signed{object}, nil
}

// unverified is the body before any check.
func (s signed) unverified() []byte { return s.object.UnsafePayloadWithoutVerification() }

// verify is the body and the certificate of its signer: of type t, certified
// under roots for usage, at the time now.
func (s signed) verify(t messageType, roots *x509.CertPool, usage x509.ExtKeyUsage, now time.Time) ([]byte, *x509.Certificate, error) {
	header := s.object.Signatures[0].Protected
	if typ, _ := header.ExtraHeaders[jose.HeaderType].(string); typ != string(t) {
		return nil, nil, refuse(RefusedSignature, nil, "message is of type %q, want %q", typ, t)
	}
	chains, err := header.Certificates(x509.VerifyOptions{
		Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	if err != nil {
		return nil, nil, refuse(RefusedCertificate, err, "signer's certificate is not trusted by the clock here, which says %s: %v", now.UTC().Format(time.RFC3339), err)
	}
	leaf := chains[0][0]
	body, err := s.object.Verify(leaf.PublicKey)
	if err != nil {
		return nil, nil, refuse(RefusedSignature, err, "signature does not verify")
	}
	return body, leaf, nil
}
