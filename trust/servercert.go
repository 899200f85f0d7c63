package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// LinkServerName is a name that every server certificate holds. Agents check
// it in place of the host that they dial, so that a control plane behind an
// address translation or a proxy is still the one that they were told of.
const LinkServerName = "control-plane.ferrule.internal"

// namesChecked is how long a look at the server's names is good for.
const namesChecked = time.Minute

// ServerCertificates keeps the server's certificate right: issued at first use,
// and again when the server's names change or a month before it ends. The key
// never leaves memory. It is safe for concurrent use.
type ServerCertificates struct {
	ca    *CA
	names func() []string

	mu      sync.Mutex
	checked time.Time
	held    []string
	cert    *tls.Certificate
}

// NewServerCertificates serves names, host names and IP addresses mixed; nil
// means LocalNames with nothing more.
func (c *CA) NewServerCertificates(names func() []string) *ServerCertificates {
	if names == nil {
		names = func() []string { return LocalNames() }
	}
	return &ServerCertificates{ca: c, names: names}
}

// GetCertificate is for tls.Config.
func (s *ServerCertificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.ca.now()
	if s.cert != nil && now.Sub(s.checked) < namesChecked {
		return s.cert, nil
	}
	names := append(s.names(), LinkServerName)
	slices.Sort(names)
	names = slices.Compact(names)
	s.checked = now
	if s.cert != nil && slices.Equal(names, s.held) && now.Before(s.cert.Leaf.NotAfter.Add(-renewEarly)) {
		return s.cert, nil
	}
	cert, err := s.ca.issueServer(names)
	if err != nil {
		return nil, err
	}
	s.cert, s.held = cert, names
	return cert, nil
}

// issueServer makes a key and its certificate for names. The chain goes with
// the root, from which a joining agent learns it.
func (c *CA) issueServer(names []string) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	now := c.now()
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "Ferrule"},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(serverLife - backdate),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, n)
		}
	}
	leaf, err := c.tls.issue(template, &key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("issue server certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw, c.tls.cert.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

// LocalNames are the host's own names and addresses, and extra ones.
func LocalNames(extra ...string) []string {
	names := append([]string{"localhost", "127.0.0.1", "::1"}, extra...)
	if host, err := os.Hostname(); err == nil && isDNSName(host) {
		names = append(names, host)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return names
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			names = append(names, n.IP.String())
		}
	}
	return names
}

func isDNSName(s string) bool {
	for _, r := range s {
		if r > 0x7e || r <= ' ' {
			return false
		}
	}
	return s != ""
}

// LinkServerTLS is the TLS side of the link's listener: agents present their
// certificates; one that is joining has none yet.
func (s *ServerCertificates) LinkServerTLS() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS13,
		GetCertificate: s.GetCertificate,
		ClientAuth:     tls.VerifyClientCertIfGiven,
		ClientCAs:      s.ca.pool,
		NextProtos:     []string{"h2", "http/1.1"},
	}
}

// AgentOf is the agent that a connection's verified certificate names.
func AgentOf(state *tls.ConnectionState) (Signer, error) {
	if state == nil || len(state.VerifiedChains) == 0 {
		return Signer{}, refuse(RefusedCertificate, nil, "no client certificate was presented")
	}
	signer, err := signerOf(state.VerifiedChains[0][0])
	if err != nil {
		return signer, refuse(RefusedCertificate, err, "client certificate is not an agent's")
	}
	return signer, nil
}

// LinkClientTLS is the TLS side of an enrolled agent.
func LinkClientTLS(bundle Bundle, credential *AgentCredential) (*tls.Config, error) {
	pool, err := bundle.CAPool()
	if err != nil {
		return nil, fmt.Errorf("read the CA of the bundle: %w", err)
	}
	config := linkClientTLS(func([]*x509.Certificate) (*x509.CertPool, error) { return pool, nil })
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return credential.TLS(), nil
	}
	return config, nil
}

// JoinTLS is the TLS side of an agent that knows no more of the control plane
// than the fingerprint in its join code.
func JoinTLS(fingerprint string) *tls.Config {
	return linkClientTLS(func(presented []*x509.Certificate) (*x509.CertPool, error) {
		for _, cert := range presented {
			if keyFingerprint(cert) == fingerprint {
				pool := x509.NewCertPool()
				pool.AddCert(cert)
				return pool, nil
			}
		}
		return nil, errors.New("the server is not of the control plane that made the join code: its CA has another fingerprint")
	})
}

// linkClientTLS verifies the server by LinkServerName under the roots chosen,
// on every connection, resumed ones too. crypto/tls can check only the name
// that it also sends, and proxies need to see the real one; hence the own
// verification in place of the built-in.
func linkClientTLS(roots func(presented []*x509.Certificate) (*x509.CertPool, error)) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection does the whole of it
		VerifyConnection: func(state tls.ConnectionState) error {
			presented := state.PeerCertificates
			pool, err := roots(presented)
			if err != nil {
				return err
			}
			between := x509.NewCertPool()
			for _, cert := range presented[1:] {
				between.AddCert(cert)
			}
			_, err = presented[0].Verify(x509.VerifyOptions{
				DNSName: LinkServerName, Roots: pool, Intermediates: between,
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			})
			if err != nil {
				return fmt.Errorf("the server is not of this agent's control plane: %w", err)
			}
			return nil
		},
	}
}
