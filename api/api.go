// Package api serves everything that Ferrule says over HTTP to its users: the
// Bare Metal API (api/v1), Ferrule's own routes, health, metrics and the
// description of all this. It reads and writes through store and reaches
// hardware only by what it writes there, or through the Commands it is given;
// it must not import drivers or conductor.
package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"ferrule/api/auth"
	"ferrule/api/ferrule"
	v1 "ferrule/api/v1"
	"ferrule/config"
	"ferrule/hardware"
	"ferrule/openapi"
	"ferrule/store"
)

// The seams to what the API cannot do itself.
type (
	// Sealer turns a credential into what may be stored, and back.
	Sealer = v1.Sealer
	// Commands sends one command for a node and waits for its result.
	Commands = v1.Commands
	// Agents lets site agents in and out.
	Agents = ferrule.Agents
)

// Options are what the API stands on.
type Options struct {
	Store     *store.Store
	Config    *config.Config
	Catalogue *hardware.Catalogue
	Sealer    Sealer
	Commands  Commands
	Agents    Agents               // nil: /ferrule/v1 makes no join codes and removes no agents
	CAPEM     []byte               // served at /ca.pem; nil: 404
	Registry  *prometheus.Registry // of /metrics; nil: one of the API's own
	OwnAgent  func() bool          // whether an agent of this process is to serve hardware, see readyz; nil: no
	Logger    *slog.Logger         // nil: slog.Default()
	Now       func() time.Time     // nil: time.Now
}

// Server is the API as a handler.
type Server struct {
	echo         *echo.Echo
	store        *store.Store
	catalogue    *hardware.Catalogue
	agentTimeout time.Duration
	now          func() time.Time
	ownAgent     func() bool
	caPEM        []byte
}

// New makes the API.
func New(o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	who, err := auth.New(auth.Options{
		Strategy: o.Config.Default.AuthStrategy, UserFile: o.Config.Default.HTTPBasicAuthUserFile,
		Keystone: o.Config.KeystoneAuthtoken, Logger: o.Logger, Now: o.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("set up authentication: %w", err)
	}
	rules, err := newPolicy(o.Config, o.Logger, o.Now)
	if err != nil {
		return nil, fmt.Errorf("read policies: %w", err)
	}
	bareMetal := v1.New(v1.Options{
		Store: o.Store, Config: o.Config, Catalogue: o.Catalogue, Sealer: o.Sealer, Commands: o.Commands,
		Auth: who, Policy: rules, Logger: o.Logger, Now: o.Now,
	})
	measures, err := newMeasures(o.Registry, o.Store)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = bareMetal.HandleError
	e.Pre(measures.middleware, recoverer(o.Logger), bareMetal.Front)
	s := &Server{
		echo: e, store: o.Store, catalogue: o.Catalogue, agentTimeout: o.Config.Conductor.HeartbeatTimeout,
		now: o.Now, ownAgent: o.OwnAgent, caPEM: o.CAPEM,
	}
	if s.now == nil {
		s.now = time.Now
	}
	bareMetal.Register(e)
	if o.Config.Default.AuthStrategy != "keystone" {
		rules = nil // whoever is let in may do everything
	}
	ferrule.New(ferrule.Options{
		Store: o.Store, Agents: o.Agents, Auth: who, Policy: rules, AgentTimeout: o.Config.Conductor.HeartbeatTimeout, Logger: o.Logger, Now: o.Now,
	}).Register(e)
	s.registerOwn(o.Registry)
	return s, nil
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// recoverer turns a panic into an error like any other: the handler of errors
// answers it, and the log has the place.
func recoverer(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) (err error) {
			defer func() {
				if r := recover(); r != nil {
					if aborted, ok := r.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
						panic(r)
					}
					log.Error("handler panicked", "method", c.Request().Method, "path", c.Request().URL.Path, "panic", r, "stack", stack())
					err = fmt.Errorf("panic: %v", r)
				}
			}()
			return next(c)
		}
	}
}

// Operations are the routes that are Ferrule's own, outside of Ironic's API.
func (s *Server) own() map[string]echo.HandlerFunc {
	return map[string]echo.HandlerFunc{
		"healthz": s.healthz,
		"readyz":  s.readyz,
		"openapi": s.description,
		"caPEM":   s.ca,
	}
}

func (s *Server) registerOwn(registry *prometheus.Registry) {
	own := s.own()
	own["metrics"] = metricsHandler(registry)
	for i := range openapi.Operations {
		if op := &openapi.Operations[i]; op.Own {
			s.echo.Add(op.Method, op.Path, own[op.ID])
		}
	}
}

func (s *Server) healthz(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

func (s *Server) description(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", openapi.YAML)
}

func (s *Server) ca(c echo.Context) error {
	if len(s.caPEM) == 0 {
		return c.String(http.StatusNotFound, "this deployment has no certificate authority\n")
	}
	return c.Blob(http.StatusOK, "application/x-pem-file", s.caPEM)
}
