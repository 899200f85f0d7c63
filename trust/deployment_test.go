package trust

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/metal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// memoryKeys is a KeyStore in memory.
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

func newSealer(t testing.TB) *Sealer {
	t.Helper()
	key := make([]byte, DeploymentKeySize)
	_, _ = rand.Read(key)
	s, err := NewSealer(key)
	check(t, err)
	return s
}

// deployment is an authority with a clock of its own.
type deployment struct {
	t      testing.TB
	clock  *clock
	ca     *CA
	keys   *memoryKeys
	sealer *Sealer
	signer *CommandSigner
}

func newDeployment(t testing.TB) *deployment {
	t.Helper()
	d := &deployment{t: t, clock: &clock{at: time.Now()}, keys: &memoryKeys{keys: map[string][2][]byte{}}, sealer: newSealer(t)}
	var err error
	d.ca, err = OpenCA(t.Context(), d.keys, d.sealer, d.clock.now)
	check(t, err)
	d.signer, err = d.ca.NewCommandSigner("test")
	check(t, err)
	return d
}

// agent is a new agent's credential.
func (d *deployment) agent(name AgentName) *AgentCredential {
	d.t.Helper()
	keyPEM, err := NewAgentKey()
	check(d.t, err)
	requestPEM, err := NewAgentRequest(keyPEM)
	check(d.t, err)
	request, err := ReadAgentRequest(string(requestPEM))
	check(d.t, err)
	certPEM, err := d.ca.IssueAgent(name, request)
	check(d.t, err)
	credential, err := LoadAgentCredential(keyPEM, []byte(certPEM))
	check(d.t, err)
	return credential
}

// command is a well-formed command for agent "a-1"; change alters it.
func (d *deployment) command(change func(*metal.Command)) metal.Command {
	now := d.clock.now()
	c := metal.Command{
		ID: "c-1", Kind: metal.KindPower, NodeUUID: "n-1", AgentID: "a-1", IssuedAt: now, ExpiresAt: now.Add(time.Minute),
		Authority: metal.Authority{Type: metal.AuthorityNone},
		Request: metal.Request{
			Driver: "redfish", Address: "https://bmc.invalid", CredentialsRef: passwordRef,
			Operation: metal.PowerSet, ArgsJSON: []byte(`{"target":"power on"}`),
		},
	}
	if change != nil {
		change(&c)
	}
	return c
}

// envelope is the signed form of such a command.
func (d *deployment) envelope(change func(*metal.Command)) string {
	d.t.Helper()
	envelope, err := d.signer.Sign(d.command(change))
	check(d.t, err)
	return envelope
}

func wantRefusal(t *testing.T, err error, want RefusalCode, what string) {
	t.Helper()
	if got := RefusalOf(err); got != want {
		t.Errorf("%s: refused with %q (%v), want %q", what, got, err, want)
	}
}
