package redfish

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"time"
)

// certificate is a self-signed one, as BMCs come from the factory.
type certificate struct {
	tls  tls.Certificate
	pem  []byte
	spki string
}

func newCertificate(host string) (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("making the BMC's key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return certificate{}, fmt.Errorf("making the BMC's certificate: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "bmc", Organization: []string{"Lab"}},
		NotBefore:             now.Add(-24 * time.Hour),
		NotAfter:              now.Add(10 * 365 * 24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate{}, fmt.Errorf("making the BMC's certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return certificate{}, fmt.Errorf("making the BMC's certificate: %w", err)
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return certificate{
		tls:  tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf},
		pem:  pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		spki: hex.EncodeToString(sum[:]),
	}, nil
}

// tlsListener presents the certificate that the faults of the moment ask for.
func (b *BMC) tlsListener(l net.Listener) net.Listener {
	b.mu.Lock()
	chosen := b.first
	if b.faults.OtherCertificate {
		chosen = b.second
	}
	b.mu.Unlock()
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{chosen.tls},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"},
	})
}

// quiet swallows the server's notes about clients that distrust it: that is
// what many tests are for.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
