package redfish

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// pinError is a BMC that shows another key than the pinned one.
type pinError struct{ seen, pinned string }

func (e *pinError) Error() string {
	return fmt.Sprintf("its key has the SHA-256 %s, pinned is %s", e.seen, e.pinned)
}

// tlsConfig judges the BMC's certificate: by the pin alone where there is one,
// else by chain and name.
func tlsConfig(a access) (*tls.Config, error) {
	suites, err := cipherSuites(a.tlsCiphers)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{ServerName: a.address.host, MinVersion: tlsVersion(a.tlsMinimum), CipherSuites: suites}
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

// opensslSuites are the suites of TLS 1.2 and older by the names that OpenSSL
// gives them, and so configurations do.
var opensslSuites = map[string]uint16{
	"ECDHE-ECDSA-AES128-GCM-SHA256": tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-ECDSA-AES256-GCM-SHA384": tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-ECDSA-CHACHA20-POLY1305": tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-ECDSA-AES128-SHA256":     tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-ECDSA-AES128-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,
	"ECDHE-ECDSA-AES256-SHA":        tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
	"ECDHE-RSA-AES128-GCM-SHA256":   tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	"ECDHE-RSA-AES256-GCM-SHA384":   tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	"ECDHE-RSA-CHACHA20-POLY1305":   tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	"ECDHE-RSA-AES128-SHA256":       tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,
	"ECDHE-RSA-AES128-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,
	"ECDHE-RSA-AES256-SHA":          tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,
	"AES128-GCM-SHA256":             tls.TLS_RSA_WITH_AES_128_GCM_SHA256,
	"AES256-GCM-SHA384":             tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
	"AES128-SHA256":                 tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
	"AES128-SHA":                    tls.TLS_RSA_WITH_AES_128_CBC_SHA,
	"AES256-SHA":                    tls.TLS_RSA_WITH_AES_256_CBC_SHA,
}

// cipherSuites are those that redfish_tls_ciphers names; those of TLS 1.3 are
// offered in any case, as OpenSSL does.
func cipherSuites(names string) ([]uint16, error) {
	var ids []uint16
	for _, name := range strings.FieldsFunc(cmp.Or(names, "DEFAULT"), func(r rune) bool { return r == ':' || r == ',' || r == ' ' }) {
		id, known := opensslSuites[name]
		switch {
		case name == "DEFAULT":
			ids = append(ids, usualSuites()...)
		case known:
			ids = append(ids, id)
		default:
			return nil, driver.Errorf(metal.CodeInvalidConfig, "redfish_tls_ciphers names %s, which is no cipher suite of TLS 1.2 by its OpenSSL name", name)
		}
	}
	return ids, nil
}

// usualSuites are Go's own and the RSA key exchanges with AES, which are all
// that BMCs of some generations offer and which Ironic's OpenSSL accepts.
func usualSuites() []uint16 {
	var ids []uint16
	for _, s := range tls.CipherSuites() {
		ids = append(ids, s.ID)
	}
	return append(ids,
		tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA)
}
