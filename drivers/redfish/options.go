package redfish

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// Option names: driver_info's own.
const (
	optSystemID   = "redfish_system_id"
	optVerifyCA   = "redfish_verify_ca"
	optAuthType   = "redfish_auth_type"
	optTLSMinimum = "redfish_tls_minimum_version"
	optTLSCiphers = "redfish_tls_ciphers"
	optUsername   = "username" // where the secret is the password alone
)

func optionSchema() []driver.Option {
	return []driver.Option{
		{Name: optSystemID, Help: "path or id of the System, needed where the BMC has several"},
		{Name: optVerifyCA, Help: "true, false, a CA as PEM, or the path of a CA file or folder at the agent", Boolean: true},
		{Name: optAuthType, Help: "how to log in", Values: []string{authAuto, authBasic, authSession}},
		{Name: optTLSMinimum, Help: "the oldest TLS version to accept", Values: []string{"1.1", "1.2", "1.3"}},
		{Name: optTLSCiphers, Help: "the cipher suites to offer in TLS 1.2 and older, by their OpenSSL names"},
		{Name: optUsername, Help: "the account on the BMC"},
	}
}

// Ways to log in.
const (
	authAuto    = "auto"
	authBasic   = "basic"
	authSession = "session"
)

// access is everything that a command's way to its System depends on.
type access struct {
	address     address
	system      string
	credentials driver.Credentials
	auth        string
	pin         string // lower-case hex; "" for none
	verifyCA    string
	tlsMinimum  string
	tlsCiphers  string
}

// sameLogin reports whether two commands can share a connection and session:
// all but the System is the same.
func (a access) sameLogin(other access) bool {
	a.system, other.system = "", ""
	return a == other
}

func (d *Driver) parse(t driver.Target) (access, error) {
	a := access{credentials: t.Credentials, auth: t.Options[optAuthType], verifyCA: t.Options[optVerifyCA], tlsMinimum: t.Options[optTLSMinimum], tlsCiphers: t.Options[optTLSCiphers]}
	if a.auth == "" {
		a.auth = authAuto
	}
	if a.credentials.Username == "" {
		a.credentials.Username = t.Options[optUsername]
	}
	var err error
	if a.address, err = parseAddress(t.Address, d.config.PlainHTTPNetworks); err != nil {
		return access{}, err
	}
	if a.system, err = systemPath(t.Options[optSystemID]); err != nil {
		return access{}, err
	}
	switch named := a.address.system; {
	case a.system == "":
		a.system = named
	case named != "" && named != a.system:
		return access{}, driver.Errorf(metal.CodeInvalidConfig, "redfish_address names the System %s and redfish_system_id names %s; give one", named, a.system)
	}
	a.address.system = ""
	if a.pin, err = parsePin(t.TLSSPKISHA256); err != nil {
		return access{}, err
	}
	if a.pin != "" && a.address.plain {
		return access{}, driver.Errorf(metal.CodePinUnsupported, "BMC %s is reached by plain http, where redfish_tls_spki_sha256 cannot be checked; use https", a.address)
	}
	return a, nil
}

// parsePin reads a SHA-256 of a SubjectPublicKeyInfo in hex, with or without
// the colons that openssl prints.
func parsePin(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	pin := strings.ToLower(strings.ReplaceAll(s, ":", ""))
	if raw, err := hex.DecodeString(pin); err != nil || len(raw) != 32 {
		return "", driver.Errorf(metal.CodeInvalidConfig, "redfish_tls_spki_sha256 is not a SHA-256 of 64 hex digits")
	}
	return pin, nil
}

// trust is how a certificate is judged, from redfish_verify_ca.
type trust struct {
	unverified bool
	roots      *x509.CertPool // nil: the system's
}

func parseTrust(verifyCA string) (trust, error) {
	switch strings.ToLower(strings.TrimSpace(verifyCA)) {
	case "", "true", "t", "1", "yes", "y", "on":
		return trust{}, nil
	case "false", "f", "0", "no", "n", "off":
		return trust{unverified: true}, nil
	}
	pem := []byte(verifyCA)
	if !strings.Contains(verifyCA, "-----BEGIN") {
		var err error
		if pem, err = readCA(verifyCA); err != nil {
			return trust{}, err
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return trust{}, driver.Errorf(metal.CodeInvalidConfig, "redfish_verify_ca holds no certificate in PEM form")
	}
	return trust{roots: pool}, nil
}

// maxCABytes bounds a CA file; a bundle of all public CAs has 200 KiB.
const maxCABytes = 4 << 20

// readCA reads a CA file, or all files of a folder, at the agent. Errors say
// no more of the agent's file system than that there is no CA.
func readCA(path string) ([]byte, error) {
	bad := driver.Errorf(metal.CodeInvalidConfig, "redfish_verify_ca %.200q is neither a boolean, nor PEM text, nor a readable CA file or folder at the site's agent", path)
	if !filepath.IsAbs(path) {
		return nil, bad
	}
	files := []string{path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, bad
	}
	if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(globEscape(path), "*")); err != nil {
			return nil, bad
		}
	}
	var all []byte
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := readBounded(f, maxCABytes-len(all))
		if err != nil {
			return nil, bad
		}
		all = append(append(all, text...), '\n')
	}
	if len(all) == 0 {
		return nil, bad
	}
	return all, nil
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func readBounded(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = os.ErrInvalid
	}
	return text, err
}

func tlsVersion(minimum string) uint16 {
	switch minimum {
	case "1.1":
		return tls.VersionTLS11
	case "1.3":
		return tls.VersionTLS13
	}
	return tls.VersionTLS12
}
