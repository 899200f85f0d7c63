package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"ferrule/api"
	"ferrule/cmd/internal/logfile"
	"ferrule/conductor"
	"ferrule/config"
	"ferrule/drivers"
	"ferrule/hardware"
	"ferrule/link/gateway"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/trust"
)

// plane is the control plane of one process: API, conductor, and the listener
// that agents dial.
type plane struct {
	cfg       *config.Config
	does      parts
	log       *slog.Logger
	store     *store.Store
	sealer    *trust.Sealer
	ca        *trust.CA
	certs     *trust.ServerCertificates
	catalogue *hardware.Catalogue
	local     *drivers.Registry
	conductor *conductor.Conductor
	api       *api.Server
	gateway   *gateway.Gateway

	apiTLS *certificate // nil: the API is served in clear

	// ownAgent is set while an agent of this process is to serve hardware.
	ownAgent atomic.Bool

	apiListener  net.Listener
	linkListener net.Listener
	closers      []func() error
}

// parts are what a process does of the whole.
type parts struct{ api, conductor bool }

// openPlane opens what the parts need and listens; nothing is served yet. close
// must be called.
func openPlane(ctx context.Context, cfg *config.Config, does parts) (_ *plane, err error) {
	p := &plane{cfg: cfg, does: does}
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	if err := os.MkdirAll(cfg.Store.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	log, closeLog, err := logfile.Open(cfg.Default, "ferrule")
	if err != nil {
		return nil, err
	}
	p.log = log
	p.closers = append(p.closers, closeLog)
	tellOfFindings(ctx, cfg, log)
	if does.api {
		if p.apiTLS, err = apiCertificate(cfg, log); err != nil {
			return nil, err
		}
	}
	if err := p.openTrust(ctx); err != nil {
		return nil, err
	}
	if p.catalogue, err = newCatalogue(cfg); err != nil {
		return nil, err
	}
	p.local = drivers.New(drivers.Config{Log: log})
	p.closers = append(p.closers, func() error { return p.local.Close(context.WithoutCancel(ctx)) })
	if err := p.openConductor(ctx); err != nil {
		return nil, err
	}
	if err := p.listen(ctx); err != nil {
		return nil, err
	}
	if p.api, err = p.newAPI(); err != nil {
		return nil, err
	}
	p.gateway = p.newGateway()
	return p, nil
}

func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (*store.Store, error) {
	where, err := dsn(cfg)
	if err != nil {
		return nil, err
	}
	if file, ok := strings.CutPrefix(where, "sqlite://"); ok {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, fmt.Errorf("make the database's folder: %w", err)
		}
	}
	return store.Open(ctx, store.Config{DSN: where, MaxConnections: cfg.Store.MaxConnections, Logger: log})
}

func (p *plane) openTrust(ctx context.Context) error {
	if err := p.own(); err != nil {
		return err
	}
	place, err := p.place()
	if err != nil {
		return err
	}
	if p.store, err = openStore(ctx, p.cfg, p.log); err != nil {
		return err
	}
	p.closers = append(p.closers, p.store.Close)
	if err := p.store.Migrate(ctx); err != nil {
		return err
	}
	if p.sealer, p.ca, err = trust.OpenDeployment(ctx, p.store, place, nil); err != nil {
		return err
	}
	p.certs = p.ca.NewServerCertificates(func() []string { return trust.LocalNames(p.cfg.Trust.ServerNames...) })
	return nil
}

// own makes this process the only one on its database file: a SQLite file has
// one writer, and running jobs of another process would be taken over.
func (p *plane) own() error {
	where, err := p.cfg.StoreConnection()
	if err != nil || where.Engine != config.SQLite {
		return err
	}
	path, err := sqlitePath(where)
	if err != nil {
		return err
	}
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	p.closers = append(p.closers, unlock)
	return nil
}

func (p *plane) openConductor(ctx context.Context) error {
	host := p.cfg.Default.Host
	signer, err := p.ca.NewCommandSigner(host)
	if err != nil {
		return err
	}
	p.conductor, err = conductor.New(conductor.Options{
		Store: p.store, Config: p.cfg, Catalogue: p.catalogue, Signer: signer, Sealer: p.sealer,
		Local: localDrivers{p.local}, Logger: p.log, Hostname: host,
	})
	if err != nil {
		return err
	}
	if !p.does.conductor {
		return nil
	}
	return p.conductor.Register(ctx)
}

// localDrivers carry out hardware types that need no agent.
type localDrivers struct{ registry *drivers.Registry }

// Execute implements conductor.Local.
func (l localDrivers) Execute(ctx context.Context, req metal.Request) metal.CommandResult {
	if !hardware.ServedHere(req.Driver) {
		return metal.CommandResult{
			ErrorCode: metal.CodeUnreachable,
			Message:   fmt.Sprintf("%s needs a site agent, and hardware of this type has none", req.Operation),
		}
	}
	return l.registry.Execute(ctx, req, drivers.Credentials{})
}

func (p *plane) listen(ctx context.Context) error {
	var err error
	if p.does.api {
		if p.apiListener, err = p.listenForAPI(ctx); err != nil {
			return err
		}
		p.closers = append(p.closers, ignoreClosed(p.apiListener))
		p.warnOfOpenDoor(ctx)
	}
	if p.does.conductor {
		if p.linkListener, err = listenAt(ctx, "agents", "[link] host_ip and port", p.cfg.Link.HostIP, p.cfg.Link.Port); err != nil {
			return err
		}
		p.closers = append(p.closers, ignoreClosed(p.linkListener))
	}
	return nil
}

// listenForAPI listens where [api] says: on a Unix socket, for a proxy on this
// machine, or on a port.
func (p *plane) listenForAPI(ctx context.Context) (net.Listener, error) {
	path := p.cfg.API.UnixSocket
	if path == "" {
		return listenAt(ctx, "the API", "--listen, or [api] host_ip and port,", p.cfg.API.HostIP, p.cfg.API.Port)
	}
	// A socket that a killed process left behind is in the way of the next.
	if at, err := os.Stat(path); err == nil && at.Mode().Type() == fs.ModeSocket {
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("listen for the API: another process listens on [api] unix_socket %s", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("listen for the API: remove the old socket: %w", err)
		}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for the API on [api] unix_socket: %w", err)
	}
	if mode := p.cfg.API.UnixSocketMode; mode != 0 {
		if err := os.Chmod(path, fs.FileMode(mode)); err != nil {
			return nil, errors.Join(fmt.Errorf("set [api] unix_socket_mode: %w", err), l.Close())
		}
	}
	return l, nil
}

// listenAt listens on a port, and says which options move a listener whose port
// is taken.
func listenAt(ctx context.Context, what, options, host string, port int) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address(host, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen for %s: %w; stop what listens there, or name another place by %s", what, err, strings.TrimSuffix(options, ","))
	}
	if err != nil {
		return nil, fmt.Errorf("listen for %s, as %s say: %w", what, options, err)
	}
	return l, nil
}

// warnOfOpenDoor says that whoever reaches the API may do everything, where more
// than this machine may reach it.
func (p *plane) warnOfOpenDoor(ctx context.Context) {
	if p.cfg.Default.AuthStrategy == "noauth" && !onThisMachine(p.apiListener.Addr()) {
		p.log.WarnContext(ctx, "whoever reaches the API may do everything: nobody is asked who they are; "+
			"choose [DEFAULT] auth_strategy http_basic or keystone, or listen on 127.0.0.1", "listens", p.apiListener.Addr().String())
	}
}

// onThisMachine says whether nobody else can reach the address.
func onThisMachine(a net.Addr) bool {
	at, ok := a.(*net.TCPAddr)
	return !ok || at.IP.IsLoopback() // or a Unix socket
}

func ignoreClosed(l net.Listener) func() error {
	return func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// serve runs until ctx ends or a part fails, then stops all parts.
func (p *plane) serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if p.does.conductor {
		group.Go(func() error { return p.conductor.Run(ctx) })
		group.Go(func() error { return p.gateway.Serve(ctx, p.linkListener) })
	}
	if p.does.api {
		group.Go(func() error { return p.serveAPI(ctx) })
	}
	return group.Wait()
}

// The limits on one connection to the API.
const (
	headerTimeout = 15 * time.Second
	bodyTimeout   = 2 * time.Minute // 64 MiB of config drive over a thin line
	writeTimeout  = 3 * time.Minute // an answer may wait a minute for an agent
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 10 * time.Second
)

func (p *plane) serveAPI(ctx context.Context) error {
	server := &http.Server{
		Handler: p.api, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	serve := server.Serve
	if p.apiTLS != nil {
		server.TLSConfig = p.apiTLS.config()
		serve = func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	go func() { served <- serve(p.apiListener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the API: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API: %w", err)
	}
	return nil
}

func (p *plane) ledger() ledger {
	return ledger{store: p.store, sealer: p.sealer, log: p.log, host: p.cfg.Default.Host}
}

func (p *plane) newGateway() *gateway.Gateway {
	l := p.ledger()
	return gateway.New(gateway.Config{
		CA: p.ca, Certificates: p.certs, Agents: l, Sessions: l, Commands: l, Results: l, Observations: l,
		Secrets: l, Requests: l, API: p.api, Logger: p.log,
	})
}

func (p *plane) newAPI() (*api.Server, error) {
	return api.New(api.Options{
		Store: p.store, Config: p.cfg, Catalogue: p.catalogue, Sealer: p.sealer, Commands: p.conductor,
		Agents: admission{p}, CAPEM: []byte(p.ca.PEM()), Logger: p.log, OwnAgent: p.ownAgent.Load,
	})
}

// endpoint is where the process can be reached, for the line that says so.
func (p *plane) endpoint() string {
	if p.apiListener == nil {
		return p.linkAddress() + " (agents)"
	}
	if at := p.apiListener.Addr(); at.Network() == "unix" {
		return "unix:" + at.String()
	}
	if p.apiTLS != nil {
		return "https://" + p.apiListener.Addr().String()
	}
	return "http://" + p.apiListener.Addr().String()
}

// close ends what was opened, last first.
func (p *plane) close() error {
	var errs []error
	for _, c := range slices.Backward(p.closers) {
		errs = append(errs, c())
	}
	p.closers = nil
	return errors.Join(errs...)
}
