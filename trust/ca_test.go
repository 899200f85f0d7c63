package trust

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrule/metal"
)

func TestAuthorityIsMadeOnce(t *testing.T) {
	t.Parallel()
	keys, sealer := &memoryKeys{keys: map[string][2][]byte{}}, newSealer(t)
	fingerprints := make([]string, 8)
	var group sync.WaitGroup
	for i := range fingerprints {
		group.Go(func() {
			ca, err := OpenCA(t.Context(), keys, sealer, nil)
			if err != nil {
				t.Error(err)
				return
			}
			fingerprints[i] = ca.Fingerprint() + ca.Bundle().CommandRoots
		})
	}
	group.Wait()
	for _, f := range fingerprints {
		if f != fingerprints[0] {
			t.Error("processes that start together have different authorities")
		}
	}
	if _, err := OpenCA(t.Context(), keys, newSealer(t), nil); err == nil || !strings.Contains(err.Error(), "another deployment key") {
		t.Errorf("with another deployment key: %v", err)
	}
	for name, halves := range keys.keys {
		if strings.Contains(string(halves[1]), "PRIVATE") {
			t.Errorf("the public half of %s holds a private key", name)
		}
		if _, err := x509.ParsePKCS8PrivateKey(halves[0]); err == nil {
			t.Errorf("the private half of %s is not sealed", name)
		}
	}
}

type failingKeys struct{ err error }

func (f failingKeys) TrustKey(context.Context, string) (sealed, public []byte, err error) {
	return nil, nil, f.err
}
func (f failingKeys) PutTrustKey(context.Context, string, []byte, []byte) error { return f.err }

func TestAuthorityNeedsItsStore(t *testing.T) {
	t.Parallel()
	away := errors.New("the database is away")
	if _, err := OpenCA(t.Context(), failingKeys{away}, newSealer(t), nil); !errors.Is(err, away) {
		t.Errorf("got %v, want the store's failure", err)
	}
}

func TestAgentsCertificateNamesAgentAndSite(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	for _, want := range []AgentName{{ID: "a-1"}, {ID: "a-1", Site: "edge-7.rack_2"}} {
		cert := d.agent(want).Certificate()
		got, err := AgentNameOf(cert)
		check(t, err)
		if got != want {
			t.Errorf("certificate names %+v, want %+v", got, want)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: d.ca.Pool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
			t.Error("an agent's certificate passes for a server's")
		}
	}
}

func TestCertificateRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	curve, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	check(t, err)
	for name, key := range map[string]any{"RSA": weak, "P-384": curve} {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
		check(t, err)
		_, err = ReadAgentRequest(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})))
		wantRefusal(t, err, RefusedMalformed, name)
	}
	keyPEM, err := NewAgentKey()
	check(t, err)
	requestPEM, err := NewAgentRequest(keyPEM)
	check(t, err)
	block, _ := pem.Decode(requestPEM)
	block.Bytes[len(block.Bytes)-1] ^= 1
	_, err = ReadAgentRequest(string(pem.EncodeToMemory(block)))
	if RefusalOf(err) == "" {
		t.Error("a request with a broken signature was read")
	}
	for _, text := range []string{"", "x", string(keyPEM), "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"} {
		_, err := ReadAgentRequest(text)
		wantRefusal(t, err, RefusedMalformed, text)
	}
}

func FuzzReadAgentRequest(f *testing.F) {
	keyPEM, err := NewAgentKey()
	check(f, err)
	requestPEM, err := NewAgentRequest(keyPEM)
	check(f, err)
	f.Add(string(requestPEM))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ReadAgentRequest(text); err != nil && RefusalOf(err) == "" {
			t.Errorf("error is %v, want a refusal", err)
		}
	})
}

func TestServerCertificateFollowsNamesAndTime(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	names := []string{"one.example", "192.0.2.1"}
	certificates := d.ca.NewServerCertificates(func() []string { return names })
	get := func() *x509.Certificate {
		cert, err := certificates.GetCertificate(nil)
		check(t, err)
		return cert.Leaf
	}
	first := get()
	for _, name := range []string{"one.example", "192.0.2.1", LinkServerName} {
		check(t, first.VerifyHostname(name))
	}
	d.clock.move(2 * namesChecked)
	if get() != first {
		t.Error("reissued although nothing changed")
	}
	names = append(names, "two.example")
	d.clock.move(2 * namesChecked)
	second := get()
	check(t, second.VerifyHostname("two.example"))
	d.clock.move(second.NotAfter.Sub(d.clock.now()) - renewEarly + time.Minute)
	if third := get(); !third.NotAfter.After(second.NotAfter) {
		t.Error("not reissued a month before its end")
	}
}

func TestRenewalIsDueInTheLastThird(t *testing.T) {
	t.Parallel()
	cert := newDeployment(t).agent(AgentName{ID: "a-1"})
	end := cert.Certificate().NotAfter
	for _, jitter := range []float64{0, 0.5, 1} {
		left := end.Sub(cert.RenewAt(jitter))
		if left < renewEarly || left > agentLife/2 {
			t.Errorf("jitter %v renews %v before the end", jitter, left)
		}
	}
}

// TestLinkTLS runs handshakes on a real socket: who is let in by whom.
func TestLinkTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newDeployment(t), newDeployment(t)
	server := ours.ca.NewServerCertificates(func() []string { return nil }).LinkServerTLS()
	client := func(d *deployment, credential *AgentCredential) *tls.Config {
		config, err := LinkClientTLS(d.ca.Bundle(), credential)
		check(t, err)
		return config
	}
	agent, stranger := ours.agent(AgentName{ID: "a-1", Site: "s"}), theirs.agent(AgentName{ID: "a-1"})
	old := client(ours, agent)
	old.MaxVersion = tls.VersionTLS12
	old.MinVersion = tls.VersionTLS12
	impostor := &tls.Config{Certificates: []tls.Certificate{*agent.TLS()}, MinVersion: tls.VersionTLS13}
	for name, c := range map[string]struct {
		server, client *tls.Config
		ok             bool
	}{
		"agent":                   {server, client(ours, agent), true},
		"joining":                 {server, JoinTLS(ours.ca.Fingerprint()), true},
		"joining, another CA":     {server, JoinTLS(theirs.ca.Fingerprint()), false},
		"agent of another CA":     {server, client(ours, stranger), false},
		"server of another CA":    {server, client(theirs, agent), false},
		"an agent as the server":  {impostor, client(ours, agent), false},
		"an agent for the joiner": {impostor, JoinTLS(ours.ca.Fingerprint()), false},
		"TLS 1.2":                 {server, old, false},
	} {
		signer, err := handshake(t, c.server, c.client)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, want accepted %v", name, err, c.ok)
		}
		if name == "agent" && (signer.Agent != AgentName{ID: "a-1", Site: "s"}) {
			t.Errorf("the server saw %+v", signer)
		}
		if name == "joining" && signer.Agent.ID != "" {
			t.Errorf("a joining agent was taken for %+v", signer)
		}
	}
}

func handshake(t *testing.T, server, client *tls.Config) (Signer, error) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { _ = listener.Close() }()
	var signer Signer
	served := make(chan error, 1)
	go func() {
		plain, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		conn := tls.Server(plain, server)
		defer func() { _ = conn.Close() }()
		if err = conn.HandshakeContext(t.Context()); err == nil {
			state := conn.ConnectionState()
			signer, _ = AgentOf(&state) // nobody while joining
			_, err = conn.Write([]byte{1})
		}
		served <- err
	}()
	plain, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	check(t, err)
	conn := tls.Client(plain, client)
	_, readErr := conn.Read(make([]byte, 1)) // in TLS 1.3 the server's verdict comes here
	_ = conn.Close()
	return signer, errors.Join(readErr, <-served)
}

func TestResultIsAttestedByItsAgent(t *testing.T) {
	t.Parallel()
	d, other := newDeployment(t), newDeployment(t)
	agent := d.agent(AgentName{ID: "a-1", Site: "s"})
	envelope, err := agent.SignResult(metal.CommandResult{CommandID: "c-1", OK: true})
	check(t, err)
	result, signer, err := d.ca.OpenResult(envelope)
	check(t, err)
	if result.CommandID != "c-1" || !result.OK || signer.Agent != agent.Name() || signer.KeyHash == "" {
		t.Errorf("opened as %+v of %+v", result, signer)
	}
	_, _, err = other.ca.OpenResult(envelope)
	wantRefusal(t, err, RefusedCertificate, "another deployment's agent")
	_, _, err = d.ca.OpenResult(d.envelope(nil))
	wantRefusal(t, err, RefusedSignature, "a command in place of a result")
	empty, err := agent.SignResult(metal.CommandResult{})
	check(t, err)
	_, _, err = d.ca.OpenResult(empty)
	wantRefusal(t, err, RefusedMalformed, "a result of no command")
}
