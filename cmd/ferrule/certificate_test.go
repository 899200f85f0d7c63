package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrule/config"
)

// writePair puts a new certificate for 127.0.0.1 and its key into the files.
func writePair(t *testing.T, certFile, keyFile, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheAPIIsServedOverTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "api.crt"), filepath.Join(dir, "api.key")
	writePair(t, certFile, keyFile, "first")
	p, _, _ := started(t, "api.enable_ssl_api=true", "api.cert_file="+certFile, "api.key_file="+keyFile)
	// one asks over a new connection and tells whose certificate it saw.
	one := func() string {
		t.Helper()
		seen := ""
		transport := &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, //nolint:gosec // it looks at the certificate itself
			VerifyConnection: func(state tls.ConnectionState) error {
				seen = state.PeerCertificates[0].Subject.CommonName
				return nil
			},
		}}
		defer transport.CloseIdleConnections()
		status, body := call(t, &http.Client{Transport: transport}, http.MethodGet, p.endpoint()+"/v1", "")
		if status != http.StatusOK || !strings.Contains(body, p.endpoint()+"/v1") {
			t.Errorf("%d %s", status, body)
		}
		return seen
	}
	if seen := one(); seen != "first" {
		t.Errorf("certificate of %q", seen)
	}
	if status, body := call(t, http.DefaultClient, http.MethodGet, strings.Replace(p.endpoint(), "https", "http", 1)+"/v1", ""); status != http.StatusBadRequest {
		t.Errorf("in clear: %d %s", status, body)
	}
	lookAgain := func() {
		p.apiTLS.mu.Lock()
		defer p.apiTLS.mu.Unlock()
		p.apiTLS.looked = time.Time{}
	}
	if err := os.WriteFile(keyFile, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	lookAgain()
	if seen := one(); seen != "first" {
		t.Errorf("while the files do not fit: certificate of %q", seen)
	}
	writePair(t, certFile, keyFile, "second")
	lookAgain()
	if seen := one(); seen != "second" {
		t.Errorf("after the change: certificate of %q", seen)
	}
}

func TestACertificateThatCannotBeUsedIsRefusedAtStart(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile, other := filepath.Join(dir, "a.crt"), filepath.Join(dir, "a.key"), filepath.Join(dir, "b.key")
	writePair(t, filepath.Join(dir, "b.crt"), other, "b")
	writePair(t, certFile, keyFile, "a")
	for name, c := range map[string]struct{ cert, key, says string }{
		"none named":      {"", "", "[api] cert_file and [api] key_file"},
		"no key named":    {certFile, "", "[api] key_file"},
		"no such file":    {certFile, filepath.Join(dir, "none"), "no such file"},
		"another's key":   {certFile, other, "private key does not match"},
		"no certificate":  {keyFile, keyFile, "cannot be used"},
		"the wrong order": {keyFile, certFile, "cannot be used"},
	} {
		cfg := config.Defaults()
		cfg.API.EnableSSLAPI, cfg.API.CertFile, cfg.API.KeyFile = true, c.cert, c.key
		if _, err := apiCertificate(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
