package siteagent

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"ferrule/drivers"
	"ferrule/link"
	"ferrule/link/client"
	"ferrule/metal"
	"ferrule/siteagent/reach"
	"ferrule/trust"
)

// fakeLink is a control plane in memory. Envelopes are the commands' JSON;
// what is not JSON counts as unsigned.
type fakeLink struct {
	deliveries chan string
	results    chan metal.CommandResult
	observed   chan link.Observation

	mu      sync.Mutex
	secrets map[string]string
	asked   []string // refs
	away    bool     // the control plane cannot be reached

	// read gives a secret that the test does not keep; nil: it is in secrets.
	read func(ref string) ([]byte, error)
	// relay answers ramdisks; nil: a text.
	relay func(*http.Request) (int, string)
}

func newFakeLink() *fakeLink {
	return &fakeLink{
		deliveries: make(chan string, 100), results: make(chan metal.CommandResult, 100),
		observed: make(chan link.Observation, 100), secrets: map[string]string{},
	}
}

func (l *fakeLink) Run(ctx context.Context, _ link.Hello, handle func(context.Context, client.Delivery) error) error {
	for seq := int64(1); ; seq++ {
		select {
		case <-ctx.Done():
			return nil
		case envelope := <-l.deliveries:
			if err := handle(ctx, client.Delivery{Seq: seq, Envelope: envelope}); err != nil {
				return err
			}
		}
	}
}

func (l *fakeLink) Verify(envelope string) (metal.Command, error) {
	var cmd metal.Command
	if err := json.Unmarshal([]byte(envelope), &cmd); err != nil {
		return cmd, &trust.Refusal{Code: trust.RefusedSignature, Text: "not signed", CommandID: strings.TrimPrefix(envelope, "unsigned ")}
	}
	if !time.Now().Before(cmd.ExpiresAt) {
		return metal.Command{}, &trust.Refusal{Code: trust.RefusedExpired, Text: "expired", CommandID: cmd.ID}
	}
	return cmd, nil
}

func (l *fakeLink) SendResult(ctx context.Context, result metal.CommandResult) error {
	if l.gone() {
		<-ctx.Done()
		return ctx.Err()
	}
	l.results <- result
	return nil
}

func (l *fakeLink) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away
}

func (l *fakeLink) FetchSecret(_ context.Context, _, ref string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, ref)
	if l.read != nil {
		return l.read(ref)
	}
	secret, ok := l.secrets[ref]
	if !ok {
		return nil, errors.New("the control plane answered 403: no live command names it")
	}
	return []byte(secret), nil
}

func (l *fakeLink) Observe(_ context.Context, seen []link.Observation) error {
	for _, o := range seen {
		l.observed <- o
	}
	return nil
}

func (l *fakeLink) Relay(_ context.Context, r *http.Request) (*http.Response, error) {
	status, text := http.StatusOK, "relayed "+r.URL.Path
	if l.relay != nil {
		status, text = l.relay(r)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// fakeDrivers does what a test gives it.
type fakeDrivers struct {
	execute func(ctx context.Context, req metal.Request, creds drivers.Credentials) metal.CommandResult
	rotate  func(current, next drivers.Credentials) metal.CommandResult
}

func (d *fakeDrivers) Capabilities() map[string][]metal.Operation {
	return map[string][]metal.Operation{"redfish": {metal.PowerGet, metal.PowerSet}, "fake": {metal.PowerGet}}
}

func (d *fakeDrivers) Execute(ctx context.Context, req metal.Request, creds drivers.Credentials) metal.CommandResult {
	return d.execute(ctx, req, creds)
}

func (d *fakeDrivers) Rotate(_ context.Context, _ metal.Request, current, next drivers.Credentials) metal.CommandResult {
	return d.rotate(current, next)
}

func powerOn() metal.CommandResult {
	return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(`{"state":"power on"}`)}
}

// rig is an agent at work, on fakes.
type rig struct {
	t       *testing.T
	dir     string
	link    *fakeLink
	drivers *fakeDrivers
	real    Drivers                        // in place of the fakes, if set
	strict  bool                           // loopback is as closed as at a site
	early   map[string]metal.CommandResult // that came before they were waited for, by command
	agent   *Agent

	parallel int           // places; 0: the agent's default
	patience time.Duration // 0: the agent's default
	log      *lockedBuffer
	stop     func() error
}

// lockedBuffer collects the log.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := idleRig(t)
	r.start(time.Minute)
	return r
}

// idleRig is a rig that is yet to be started.
func idleRig(t *testing.T) *rig {
	t.Helper()
	return &rig{
		t: t, dir: t.TempDir(), link: newFakeLink(), log: &lockedBuffer{}, early: map[string]metal.CommandResult{},
		drivers: &fakeDrivers{execute: func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult { return powerOn() }},
	}
}

// start begins an agent in the rig's folder, as after a restart.
func (r *rig) start(stopTimeout time.Duration) {
	r.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	var does Drivers = r.drivers
	if r.real != nil {
		does = r.real
	}
	var open []netip.Prefix
	if !r.strict {
		open = append(open, netip.MustParsePrefix("127.0.0.0/8"))
	}
	agent, err := New(Options{
		Reach:   reach.Options{Open: open},
		DataDir: r.dir, Link: r.link, Drivers: does, Listener: listener, Version: "test",
		MaxParallel: r.parallel, Patience: r.patience, StopTimeout: stopTimeout, Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.agent = agent
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	r.t.Cleanup(func() {
		if err := r.stop(); err != nil {
			r.t.Error(err)
		}
	})
}

func (r *rig) restart() {
	r.t.Helper()
	if err := r.stop(); err != nil {
		r.t.Fatal(err)
	}
	r.start(time.Minute)
}

// command is one that sets the power of a BMC of its own.
func command() metal.Command {
	return metal.Command{
		ID: uuid.NewString(), Kind: metal.KindPower, NodeUUID: uuid.NewString(), AgentID: "a",
		IssuedAt: time.Now(), ExpiresAt: time.Now().Add(time.Minute),
		Request: metal.Request{Driver: "redfish", Address: "https://" + rand.Text() + ".example", Operation: metal.PowerSet},
	}
}

func ownCommand(kind metal.Kind, op metal.Operation, args any) metal.Command {
	cmd := command()
	cmd.Kind = kind
	cmd.Request = metal.Request{Operation: op, ArgsJSON: []byte(metal.ToJSON(args))}
	return cmd
}

// The refs of a command's secrets, as the control plane writes them.
func bmcRef(node string) string {
	return metal.DriverInfoSecrets(node).Below("redfish_password").Ref()
}

func tokenRef(node string) string { return metal.RamdiskToken(node).Ref() }

func paramRef(node, name string) string {
	return (&metal.OperationRecord{ID: "o", NodeUUID: node}).Secrets().Below(name).Ref()
}

func (r *rig) deliver(cmd metal.Command) {
	r.t.Helper()
	text, err := json.Marshal(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.link.deliveries <- string(text)
}

// result waits for a command's result. Each result is sent by itself, so those of
// other commands may come first.
func (r *rig) result(cmd metal.Command) metal.CommandResult {
	r.t.Helper()
	result, came := r.early[cmd.ID]
	for !came {
		result = wait(r.t, r.link.results)
		if came = result.CommandID == cmd.ID; !came {
			r.early[result.CommandID] = result
		}
	}
	delete(r.early, cmd.ID)
	if result.FinishedAt.IsZero() {
		r.t.Error("the result has no time")
	}
	return result
}

func (r *rig) do(cmd metal.Command) metal.CommandResult {
	r.t.Helper()
	r.deliver(cmd)
	return r.result(cmd)
}

func (r *rig) secret(ref, value string) {
	r.link.mu.Lock()
	defer r.link.mu.Unlock()
	r.link.secrets[ref] = value
}

func (r *rig) askedRefs() []string {
	r.link.mu.Lock()
	defer r.link.mu.Unlock()
	return slices.Clone(r.link.asked)
}

// wait takes the next of a channel, or fails after a while.
func wait[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(20 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// account is a BMC account with a random password, and its secret.
func account(user string) (drivers.Credentials, string) {
	creds := drivers.Credentials{Username: user, Password: rand.Text()}
	text := metal.ToJSON(map[string]string{"username": creds.Username, "password": creds.Password})
	return creds, string(text)
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
