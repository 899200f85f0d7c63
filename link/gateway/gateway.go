// Package gateway is the control plane's half of the link. It accepts agents,
// streams their commands to them, takes what they post and hands it on through
// the interfaces in seam.go. It keeps nothing but who is connected, and knows
// neither the store nor the API.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"ferrule/link"
	"ferrule/trust"
)

// Config wires a Gateway. All seams must be set.
type Config struct {
	CA           *trust.CA
	Certificates *trust.ServerCertificates
	Agents       Agents
	Sessions     Sessions
	Commands     Commands
	Results      Results
	Observations Observations
	Secrets      trust.Secrets
	Requests     SecretRequests
	API          http.Handler // what the ramdisk's relay reaches

	Logger    *slog.Logger  // nil: slog.Default()
	KeepAlive time.Duration // between signs of life on an idle session; 0: link.DefaultKeepAlive
	Poll      time.Duration // the net under wake-ups and removals; 0: 900 ms
}

// Gateway serves the link.
type Gateway struct {
	Config
	log      *slog.Logger
	releaser *trust.Releaser
	mux      *http.ServeMux

	mu       sync.Mutex
	stopping bool
	sessions map[string]*session // by agent
}

// New makes a gateway.
func New(config Config) *Gateway {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.KeepAlive == 0 {
		config.KeepAlive = link.DefaultKeepAlive
	}
	if config.Poll == 0 {
		config.Poll = 900 * time.Millisecond
	}
	g := &Gateway{
		Config: config, log: config.Logger, mux: http.NewServeMux(), sessions: map[string]*session{},
		releaser: config.CA.NewReleaser(config.Secrets, releases{config.Requests, config.Agents}),
	}
	g.mux.HandleFunc("POST "+link.PathEnroll, g.bounded(g.enroll))
	g.mux.HandleFunc("POST "+link.PathRenew, g.bounded(g.forAgent(g.renew)))
	g.mux.HandleFunc("POST "+link.PathResults, g.bounded(g.forAgent(g.result)))
	g.mux.HandleFunc("POST "+link.PathSecrets, g.bounded(g.forAgent(g.secret)))
	g.mux.HandleFunc("POST "+link.PathObservations, g.bounded(g.forAgent(g.observe)))
	g.mux.HandleFunc("POST "+link.PathSession, g.streamed(g.forAgent(g.serveSession)))
	return g
}

// ServeHTTP routes. The relayed paths go past the mux, which would tidy them.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.EscapedPath(), link.PathRelay+"/") {
		g.bounded(g.forAgent(g.relay))(w, r)
		return
	}
	g.mux.ServeHTTP(w, r)
}

// The limits on one request, other than the session's response.
const (
	readTimeout  = time.Minute
	writeTimeout = 2 * time.Minute
	stopTimeout  = 10 * time.Second
)

type handler func(w http.ResponseWriter, r *http.Request) error

// bounded sets the deadlines and answers errors.
func (g *Gateway) bounded(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g.sayTime(w)
		control := http.NewResponseController(w)
		now := time.Now()
		if err := errors.Join(control.SetReadDeadline(now.Add(readTimeout)), control.SetWriteDeadline(now.Add(writeTimeout))); err != nil {
			g.log.WarnContext(r.Context(), "no deadline on a request of the link", "error", err)
		}
		g.answer(w, r, h(w, r))
	}
}

// sayTime tells the agent the time by the clock that judges its messages.
func (g *Gateway) sayTime(w http.ResponseWriter) {
	w.Header().Set("Date", g.CA.Now().UTC().Format(http.TimeFormat))
}

// streamed bounds the reading only: the session sets its own write deadlines.
func (g *Gateway) streamed(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		g.sayTime(w)
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTimeout)); err != nil {
			g.log.WarnContext(r.Context(), "no deadline on a session of the link", "error", err)
		}
		g.answer(w, r, h(w, r))
	}
}

// Serve accepts agents on listener until ctx ends; then it ends the sessions,
// lets requests finish, and returns nil.
func (g *Gateway) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           g,
		TLSConfig:         g.Certificates.LinkServerTLS(),
		ReadHeaderTimeout: 15 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second, WriteByteTimeout: 30 * time.Second,
		},
	}
	g.setStopping(false)
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("serve the link on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	g.setStopping(true)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the link on %s: %w", listener.Addr(), err)
	}
	return nil
}
