package redfish

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
)

// pinError is a BMC that shows another key than the pinned one.
type pinError struct{ seen, pinned string }

func (e *pinError) Error() string {
	return fmt.Sprintf("its key has the SHA-256 %s, pinned is %s", e.seen, e.pinned)
}

// tlsConfig judges the BMC's certificate: by the pin alone where there is one,
// else by chain and name.
func tlsConfig(a access) (*tls.Config, error) {
	cfg := &tls.Config{
		ServerName:   a.address.host,
		MinVersion:   tlsVersion(a.tlsMinimum),
		CipherSuites: cipherSuites(),
	}
	if a.pin != "" {
		cfg.InsecureSkipVerify = true // the pin below replaces chain and name
		cfg.VerifyConnection = func(state tls.ConnectionState) error { return checkPin(state, a.pin) }
		return cfg, nil
	}
	judged, err := parseTrust(a.verifyCA)
	if err != nil {
		return nil, err
	}
	cfg.InsecureSkipVerify = judged.unverified // the operator's explicit choice, warned of at each use
	cfg.RootCAs = judged.roots
	return cfg, nil
}

// unverified reports whether the BMC's certificate is looked at at all.
func unverified(a access) bool {
	if a.address.plain || a.pin != "" {
		return false
	}
	t, err := parseTrust(a.verifyCA)
	return err == nil && t.unverified
}

func checkPin(state tls.ConnectionState, pinned string) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the BMC shows no certificate")
	}
	sum := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
	if seen := hex.EncodeToString(sum[:]); seen != pinned {
		return &pinError{seen: seen, pinned: pinned}
	}
	return nil
}

// cipherSuites are Go's own and the RSA key exchanges with AES, which are all
// that BMCs of some generations offer and which Ironic's OpenSSL accepts.
func cipherSuites() []uint16 {
	var ids []uint16
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return append(ids,
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}
