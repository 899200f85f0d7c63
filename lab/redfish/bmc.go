// Package redfish is an emulated BMC: a Redfish service on its own loopback
// address in front of one or more emulated machines, with the habits of real
// ones switchable (Quirks) and faults that can be set while it runs (Faults).
// It must not import a Redfish client.
package redfish

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"ferrule/lab/event"
	"ferrule/lab/machine"
)

// Config is what one BMC is made of.
type Config struct {
	Name      string
	Host      string // its loopback address
	Port      int    // 0: any free one
	PlainHTTP bool
	Username  string
	Password  string
	Systems   []System
	MediaDir  string // for the copies of inserted media
	Quirks    Quirks
	Log       *event.Log
}

// System is one machine as the BMC names it.
type System struct {
	ID      string
	Machine *machine.Machine
}

// BMC is one running service. Close it when it is no longer needed.
type BMC struct {
	cfg    Config
	log    *event.Log
	port   int
	first  certificate
	second certificate // presented while the fault asks for it
	client *http.Client
	routes map[string]methods

	mu       sync.Mutex
	faults   Faults
	released chan struct{} // closed when a hang ends
	users    *accounts
	sessions map[string]session
	seen     *observer
	tasks    map[string]*task
	systems  map[string]*systemState
	unready  []Answer

	lifecycle sync.Mutex
	server    *http.Server
	serving   chan struct{}
	stopped   bool

	ctx    context.Context
	cancel context.CancelFunc
}

// systemState is what the BMC itself keeps for a system.
type systemState struct {
	boot        machine.Boot // as the system resource shows it, where changes are pending
	refusedPost int          // the power-on whose boot changes were refused
	refusals    int
	secureBoot  bool
	bios        map[string]any
	pendingBios map[string]any
	led         string
}

// Start makes a BMC and serves it.
func Start(cfg Config) (*BMC, error) {
	if len(cfg.Systems) == 0 {
		return nil, fmt.Errorf("starting the BMC %s: it has no system", cfg.Name)
	}
	first, err := newCertificate(cfg.Host)
	if err != nil {
		return nil, err
	}
	second, err := newCertificate(cfg.Host)
	if err != nil {
		return nil, err
	}
	b := &BMC{
		cfg: cfg, log: cfg.Log, port: cfg.Port, first: first, second: second,
		client:   mediaClient(),
		routes:   routeTable(),
		released: make(chan struct{}),
		users:    newAccounts(cfg),
		sessions: map[string]session{},
		seen:     newObserver(),
		tasks:    map[string]*task{},
		systems:  map[string]*systemState{},
		unready:  append([]Answer(nil), cfg.Quirks.NotReady...),
	}
	for _, s := range cfg.Systems {
		b.systems[s.ID] = &systemState{boot: s.Machine.Boot(), bios: initialBios(), led: "Off"}
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	if err := b.listen(); err != nil {
		b.cancel()
		return nil, err
	}
	return b, nil
}

// Close ends the service and waits for it.
func (b *BMC) Close() {
	b.cancel()
	b.lifecycle.Lock()
	defer b.lifecycle.Unlock()
	b.stopped = true
	b.unlisten()
	b.client.CloseIdleConnections()
}

// Address is the service's base URL.
func (b *BMC) Address() string {
	scheme := "https"
	if b.cfg.PlainHTTP {
		scheme = "http"
	}
	return scheme + "://" + net.JoinHostPort(b.cfg.Host, strconv.Itoa(b.port))
}

// SPKI is the SHA-256 of the certificate's public key, in hex, "" over plain
// http.
func (b *BMC) SPKI() string {
	if b.cfg.PlainHTTP {
		return ""
	}
	return b.first.spki
}

// CertificatePEM is the BMC's own certificate, for clients that trust it.
func (b *BMC) CertificatePEM() []byte { return b.first.pem }

// listen starts the server on the port that the BMC has, or on any free one
// the first time.
func (b *BMC) listen() error {
	l, err := net.Listen("tcp", net.JoinHostPort(b.cfg.Host, strconv.Itoa(b.port)))
	if err != nil {
		return fmt.Errorf("starting the BMC %s: %w", b.cfg.Name, err)
	}
	b.port = l.Addr().(*net.TCPAddr).Port
	server := &http.Server{
		Handler:           http.HandlerFunc(b.serveHTTP),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          quiet(),
	}
	done := make(chan struct{})
	b.server, b.serving = server, done
	if !b.cfg.PlainHTTP {
		l = b.tlsListener(l)
	}
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			b.log.Add(event.CallFailed, "call", "serve", "error", err.Error())
		}
	}()
	return nil
}

// unlisten stops the server and cuts its connections.
func (b *BMC) unlisten() {
	if b.server == nil {
		return
	}
	b.server.Close()
	<-b.serving
	b.server = nil
}
