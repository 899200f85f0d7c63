package siteagent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrule/durable"
	"ferrule/hardware"
	"ferrule/link"
	"ferrule/siteagent/journal"
	"ferrule/siteagent/media"
	"ferrule/siteagent/places"
	"ferrule/siteagent/ramdisk"
	"ferrule/siteagent/reach"
	"ferrule/siteagent/relay"
	"ferrule/siteagent/watch"
)

// DefaultPort is where an agent serves media and the ramdisks' relay.
const DefaultPort = 6387

// Options make an Agent. Zero values have the defaults noted.
type Options struct {
	DataDir string  // a private folder of this agent alone
	Link    Link    // OverClient(…) of an agent that has joined
	Drivers Drivers // a *drivers.Registry

	// ListenAddr is where media and relay are served; "" is port 6387 on all
	// addresses. Listener takes its place where it is set.
	ListenAddr string
	Listener   net.Listener
	// AdvertiseURL is the address under which BMCs and ramdisks reach the
	// listener, without a path; "" is made of the listener's own address.
	AdvertiseURL string
	TLS          *tls.Config // serve HTTPS; nil for HTTP

	Version   string
	Labels    map[string]string
	ImageDirs []string // folders that file:// image addresses may name
	// Reach says which addresses images and ramdisks may have; its files and the
	// agent's own address are set here.
	Reach   reach.Options
	Media   media.Options
	Ramdisk ramdisk.Client

	MaxParallel    int           // commands at work on machines that answer, and as many on silent ones; 0: 256
	Patience       time.Duration // how long a command on its way counts as work on a machine that answers; 0: 5 s
	CommandTimeout time.Duration // of one command; 0: an hour
	StopTimeout    time.Duration // how long a stop waits for commands under way; 0: 30 s
	Logger         *slog.Logger
}

// Agent is a site's agent. New opens its files and its port, Run does its work.
type Agent struct {
	options  Options
	log      *slog.Logger
	base     string
	listener net.Listener
	journal  *journal.Journal
	media    *media.Shelf
	reach    *reach.Guard
	lock     *os.File
}

// New makes an agent. Close it if it is never run.
func New(o Options) (*Agent, error) {
	o.MaxParallel = cmp.Or(o.MaxParallel, 256)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	o.CommandTimeout = cmp.Or(o.CommandTimeout, time.Hour)
	o.StopTimeout = cmp.Or(o.StopTimeout, 30*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	a := &Agent{options: o, log: o.Logger}
	if err := a.open(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *Agent) open() (err error) {
	var ran bool
	if a.lock, ran, err = lockFolder(a.options.DataDir); err != nil {
		return err
	}
	if err := durable.RemoveLeftovers(a.options.DataDir); err != nil {
		return fmt.Errorf("clear the agent's data folder: %w", err)
	}
	if err := os.RemoveAll(a.workDir()); err != nil {
		return fmt.Errorf("clear the agent's work folder: %w", err)
	}
	if err := os.MkdirAll(a.workDir(), 0o700); err != nil {
		return fmt.Errorf("make the agent's data folder: %w", err)
	}
	if a.journal, err = journal.Open(journal.Options{Dir: a.options.DataDir, Ran: ran, Now: time.Now, Log: a.log}); err != nil {
		return err
	}
	if a.listener = a.options.Listener; a.listener == nil {
		address := cmp.Or(a.options.ListenAddr, fmt.Sprintf(":%d", DefaultPort))
		if a.listener, err = net.Listen("tcp", address); err != nil {
			return fmt.Errorf("listen for machines: %w", err)
		}
	}
	if err := a.openReach(); err != nil {
		return err
	}
	shelf := a.options.Media
	shelf.Images = a.reach.Transport()
	shelf.Dir = cmp.Or(shelf.Dir, filepath.Join(a.options.DataDir, "media"))
	shelf.ImageDirs = append(shelf.ImageDirs, a.options.ImageDirs...)
	shelf.Log = a.log
	if a.media, err = media.Open(shelf); err != nil {
		return err
	}
	a.base, err = advertised(a.options, a.listener.Addr())
	return err
}

func (a *Agent) workDir() string { return filepath.Join(a.options.DataDir, "work") }

// advertised is the address that goes into media and commands.
func advertised(o Options, at net.Addr) (string, error) {
	if o.AdvertiseURL != "" {
		return strings.TrimRight(o.AdvertiseURL, "/"), nil
	}
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return "", fmt.Errorf("address of the agent's listener: %w", err)
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		if host, err = outwardAddress(); err != nil {
			return "", err
		}
	}
	scheme := "http"
	if o.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

// outwardAddress is the first address of this machine that others may reach.
func outwardAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("find this machine's address: %w", err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String(), nil
		}
	}
	return "", errors.New("this machine has no address that others can reach: name one as the agent's advertised URL")
}

// URL is the address of the agent's relay and media.
func (a *Agent) URL() string { return a.base }

// Close lets go of an agent that is not running. Run does so by itself.
func (a *Agent) Close() error {
	var all []error
	if a.listener != nil {
		if err := a.listener.Close(); !errors.Is(err, net.ErrClosed) {
			all = append(all, err)
		}
	}
	if a.journal != nil {
		all = append(all, a.journal.Close())
	}
	if a.reach != nil {
		all = append(all, a.reach.Close())
	}
	if a.lock != nil {
		all = append(all, a.lock.Close())
	}
	return errors.Join(all...)
}

// Hello is what the agent tells the control plane of itself.
func (a *Agent) Hello() link.Hello { return hello(a.options) }

// HelloOf is the hello of an agent that is yet to join.
func HelloOf(version string, labels map[string]string, d Drivers) link.Hello {
	return hello(Options{Version: version, Labels: labels, Drivers: d})
}

func hello(o Options) link.Hello {
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "unknown"
	}
	operations := o.Drivers.Capabilities()
	operations[""] = ownOperations
	h := link.Hello{Version: o.Version, Hostname: hostname, Labels: o.Labels, Operations: operations}
	for _, hw := range hardware.Types() {
		if _, has := operations[hw.Driver]; has && hw.Host == hardware.HostedAtAgent {
			h.HardwareTypes = append(h.HardwareTypes, hw.Name)
		}
	}
	return h
}

// Run works until ctx ends, and then waits for the commands under way, at most
// the stop timeout. Its error says that the agent cannot go on: it was removed
// from its control plane, or its listener broke.
func (a *Agent) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, a.Close()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	e, giveUp := a.executor(ctx)
	server := a.server()
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := a.serve(server); err != nil {
			cancel(err)
		}
	}()
	swept := make(chan struct{})
	go func() {
		defer close(swept)
		a.sweep(ctx)
	}()
	a.log.InfoContext(ctx, "agent is up", "relay", a.base, "data", a.options.DataDir)
	err = a.options.Link.Run(ctx, a.Hello(), e.handle)
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	cancel(nil)
	a.drain(e, giveUp)
	_ = server.Close() // readers of media and ramdisks come back after the restart
	<-served
	<-swept
	return err
}

// executor makes the executor and the call that makes its commands give up.
func (a *Agent) executor(accept context.Context) (*executor, context.CancelFunc) {
	running, giveUp := context.WithCancel(context.Background())
	o := a.options
	o.Ramdisk.Dial = a.reach.DialRamdisk
	e := &executor{
		link: o.Link, drivers: noting{o.Drivers, a.reach}, journal: a.journal, media: a.media, ramdisk: &o.Ramdisk,
		watch: watch.Start(o.Link.Observe, a.log), base: a.URL, workDir: a.workDir(), timeout: o.CommandTimeout,
		log: a.log, accept: accept, ctx: running, taken: map[string]bool{},
		lanes: newLanes(places.New(o.MaxParallel, o.Patience), places.New(maxBuilds, 0)),
	}
	return e, giveUp
}

// maxBuilds are the media that are built or removed at once.
const maxBuilds = 64

// drain ends the executor: what has begun may end, in bounds.
func (a *Agent) drain(e *executor, giveUp context.CancelFunc) {
	defer giveUp()
	bound := time.AfterFunc(a.options.StopTimeout, giveUp)
	defer bound.Stop()
	e.lanes.stop()
	e.watch.Stop()
	e.lanes.wait()
	lastSends := time.AfterFunc(min(a.options.StopTimeout, sendGrace), giveUp)
	defer lastSends.Stop()
	e.sends.Wait()
}

// sendGrace is how long a stop waits for results to be taken; the journal has
// them in any case.
const sendGrace = 2 * time.Second

func (a *Agent) server() *http.Server {
	ramdisks := relay.New(a.options.Link.Relay, a.reach.Callback, a.log)
	// No ServeMux: it redirects paths that are not clean, here they are not there.
	route := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz":
			_, _ = io.WriteString(w, "ok\n")
		case strings.HasPrefix(r.URL.Path, media.PathPrefix):
			a.media.ServeHTTP(w, r)
		default:
			ramdisks.ServeHTTP(w, r)
		}
	})
	return &http.Server{
		Handler: route, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, TLSConfig: a.options.TLS,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
}

func (a *Agent) serve(server *http.Server) error {
	var err error
	if a.options.TLS != nil {
		err = server.ServeTLS(a.listener, "", "")
	} else {
		err = server.Serve(a.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve machines: %w", err)
}

// sweepEvery is how often media whose time is over are removed.
const sweepEvery = 10 * time.Minute

func (a *Agent) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := a.media.Sweep(); err != nil {
				a.log.ErrorContext(ctx, "old media cannot be removed", "error", err)
			}
		}
	}
}
