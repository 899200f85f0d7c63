package link_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"ferrule/link"
	"ferrule/link/client"
	"ferrule/link/gateway"
	"ferrule/metal"
	"ferrule/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plane is a control plane with its gateway on a real listener.
type plane struct {
	*register
	t       *testing.T
	ca      *trust.CA
	signer  *trust.CommandSigner
	gateway *gateway.Gateway
	address string
	api     http.Handler
	stop    func()
}

type memoryKeys struct {
	mu   sync.Mutex
	keys map[string][2][]byte
}

func (m *memoryKeys) TrustKey(_ context.Context, name string) (sealed, public []byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.keys[name][0], m.keys[name][1], nil
}

func (m *memoryKeys) PutTrustKey(_ context.Context, name string, sealed, public []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, there := m.keys[name]; !there {
		m.keys[name] = [2][]byte{sealed, public}
	}
	return nil
}

func newCA(t *testing.T, now func() time.Time) *trust.CA {
	t.Helper()
	key := make([]byte, trust.DeploymentKeySize)
	_, _ = rand.Read(key)
	sealer, err := trust.NewSealer(key)
	check(t, err)
	ca, err := trust.OpenCA(t.Context(), &memoryKeys{keys: map[string][2][]byte{}}, sealer, now)
	check(t, err)
	return ca
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newPlane starts a control plane; its end is the test's.
func newPlane(t *testing.T) *plane {
	t.Helper()
	return newPlaneAt(t, time.Now)
}

// newPlaneAt is newPlane with a clock of its own.
func newPlaneAt(t *testing.T, now func() time.Time) *plane {
	t.Helper()
	p := &plane{register: newRegister(), t: t, ca: newCA(t, now), api: http.NotFoundHandler()}
	var err error
	p.signer, err = p.ca.NewCommandSigner("test")
	check(t, err)
	p.gateway = gateway.New(gateway.Config{
		CA: p.ca, Certificates: p.ca.NewServerCertificates(func() []string { return []string{"127.0.0.1"} }),
		Agents: p, Sessions: p, Commands: p, Results: p, Observations: p, Secrets: p, Requests: p,
		API:    http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.api.ServeHTTP(w, r) }),
		Logger: quiet(), KeepAlive: 50 * time.Millisecond, Poll: 20 * time.Millisecond,
	})
	p.serve("127.0.0.1:0")
	t.Cleanup(func() { p.stop() })
	return p
}

func listenAt(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	check(t, err)
	return listener
}

// serve runs the gateway at address until stop.
func (p *plane) serve(address string) {
	p.t.Helper()
	listener := listenAt(p.t, address)
	p.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.gateway.Serve(ctx, listener) }()
	p.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			p.t.Error(err)
		}
	})
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// codeLife is longer than the clock of a control plane is behind in any test.
const codeLife = 101 * 24 * time.Hour

// code makes a join code for a site.
func (p *plane) code(site string) trust.JoinCode {
	p.t.Helper()
	code, err := p.ca.NewJoinCode(p.address, codeLife)
	check(p.t, err)
	p.update(func() { p.codes[code.SecretHash()] = &joinCode{site: site, expires: code.Expires} })
	return code
}

func hello() link.Hello {
	return link.Hello{
		Version: "1", Hostname: "host-a", HardwareTypes: []string{"redfish"},
		Operations: map[string][]metal.Operation{"redfish": {metal.PowerGet}},
	}
}

// join makes an agent of the site and its client.
func (p *plane) join(site string, options client.Options) *client.Client {
	p.t.Helper()
	id, err := client.Enroll(p.t.Context(), p.code(site).Encode(), p.t.TempDir(), hello())
	check(p.t, err)
	return p.connect(id, options)
}

func (p *plane) connect(id *client.Identity, options client.Options) *client.Client {
	p.t.Helper()
	options.Logger, options.RetryFirst, options.RetryMost = quiet(), 5*time.Millisecond, 20*time.Millisecond
	c, err := client.New(id, options)
	check(p.t, err)
	p.t.Cleanup(c.Close)
	return c
}

// run keeps the client connected until stop; deliveries come on the channel.
func (p *plane) run(c *client.Client) (deliveries <-chan client.Delivery, ended <-chan error, stop func()) {
	p.t.Helper()
	out, end := make(chan client.Delivery, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		end <- c.Run(ctx, hello(), func(_ context.Context, d client.Delivery) error {
			out <- d
			return nil
		})
	}()
	stop = func() { cancel(); <-done }
	p.t.Cleanup(stop)
	return out, end, stop
}

// command signs a power query for the agent and queues it.
func (p *plane) command(agentID, ref string) metal.Command {
	p.t.Helper()
	now := p.ca.Now()
	command := metal.Command{
		ID: uuid.NewString(), Kind: metal.KindQuery, NodeUUID: "n", AgentID: agentID,
		IssuedAt: now, ExpiresAt: now.Add(time.Minute), Authority: metal.Authority{Type: metal.AuthorityNone},
		Request: metal.Request{Driver: "redfish", Address: "https://bmc.invalid", CredentialsRef: ref, Operation: metal.PowerGet},
	}
	envelope, err := p.signer.Sign(command)
	check(p.t, err)
	p.issue(metal.CommandRecord{
		ID: command.ID, NodeUUID: command.NodeUUID, AgentID: agentID, Kind: command.Kind,
		Operation: command.Request.Operation, Envelope: envelope, IssuedAt: command.IssuedAt, ExpiresAt: command.ExpiresAt,
	})
	return command
}

// limit bounds a wait in a test.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-limit(t).Done():
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func (p *plane) awaitOnline(agentID string) {
	p.t.Helper()
	if !p.await(limit(p.t), func() bool { return p.sessions[agentID] != "" }) {
		p.t.Fatal("agent did not come on line")
	}
}
