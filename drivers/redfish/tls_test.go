package redfish

import (
	"crypto/tls"
	"net"
	"testing"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// handshake is how a driver with the options and a BMC agree on a suite.
func handshake(t *testing.T, options driver.Options, bmc *tls.Config) (tls.ConnectionState, error) {
	t.Helper()
	b := newBMC(t)
	options[optVerifyCA] = "false"
	a, err := newDriver(t).parse(driver.Target{Address: b.server.URL, Options: options})
	if err != nil {
		t.Fatal(err)
	}
	client, err := tlsConfig(a)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	bmc.Certificates = b.server.TLS.Certificates
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = tls.Server(far, bmc).HandshakeContext(t.Context()) // the client tells how it went
		_ = far.Close()
	}()
	conn := tls.Client(near, client)
	err = conn.HandshakeContext(t.Context())
	state := conn.ConnectionState()
	_ = near.Close()
	<-served
	return state, err
}

func TestCiphersAreTheOnesThatTheNodeNames(t *testing.T) {
	t.Parallel()
	old := func() *tls.Config { return &tls.Config{MaxVersion: tls.VersionTLS12} }
	for names, want := range map[string]uint16{
		"ECDHE-RSA-AES256-GCM-SHA384":            tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		"AES256-SHA:ECDHE-RSA-AES128-GCM-SHA256": tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		"":                                       tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		"DEFAULT":                                tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	} {
		state, err := handshake(t, driver.Options{optTLSCiphers: names}, old())
		if err != nil || state.CipherSuite != want {
			t.Errorf("%q: %s, %v", names, tls.CipherSuiteName(state.CipherSuite), err)
		}
	}
	if _, err := handshake(t, driver.Options{optTLSCiphers: "AES128-SHA"}, &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}); err == nil {
		t.Error("a suite was agreed on that the node does not name")
	}
	if _, err := handshake(t, driver.Options{optTLSCiphers: "ECDHE-RSA-AES128-GCM-SHA256:NO-SUCH"}, old()); driver.CodeOf(err) != metal.CodeInvalidConfig {
		t.Errorf("an unknown suite: %v", err)
	}
}

func TestTheOldestTLSIsTheOneThatTheNodeNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minimum string
		bmc     uint16
		ok      bool
	}{{"", tls.VersionTLS12, true}, {"1.3", tls.VersionTLS12, false}, {"1.3", tls.VersionTLS13, true}, {"1.2", tls.VersionTLS11, false}} {
		_, err := handshake(t, driver.Options{optTLSMinimum: c.minimum}, &tls.Config{MinVersion: tls.VersionTLS11, MaxVersion: c.bmc})
		if (err == nil) != c.ok {
			t.Errorf("at least %q, and a BMC of %s: %v", c.minimum, tls.VersionName(c.bmc), err)
		}
	}
}
