// Package ferrule serves the operator's own calls under /ferrule/v1, as
// openapi/ferrule.yaml describes them: sites, their agents and join codes.
// Errors are plain JSON, {"error": "…"}. It reads from the store and changes
// what agents may do through Agents; it knows nothing of the wire to them.
package ferrule

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"ferrule/api/auth"
	"ferrule/api/policy"
	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// Agents lets agents in and out.
type Agents interface {
	// NewJoinCode makes a code that lets one agent join the site until expires;
	// a life of 0 is the deployment's own.
	NewJoinCode(ctx context.Context, site string, life time.Duration) (code string, expires time.Time, err error)
	// RemoveAgent ends an agent for good; metal.NotFound where there is none.
	RemoveAgent(ctx context.Context, id string) error
}

// Reader is what the lists are read from: a *store.Store.
type Reader interface {
	Agents(ctx context.Context) ([]store.Agent, error)
	Sites(ctx context.Context) ([]store.Site, error)
	Conductors(ctx context.Context) ([]metal.Conductor, error)
}

// Options are what the calls stand on.
type Options struct {
	Store  Reader
	Agents Agents // nil: a process that neither makes codes nor removes agents
	Auth   auth.Authenticator
	Policy *policy.Enforcer // nil: whoever is let in may do everything
	// AgentTimeout is how long an agent without a sign of life counts as on line.
	AgentTimeout time.Duration
	Logger       *slog.Logger
	Now          func() time.Time // nil: time.Now
}

// Service answers the calls.
type Service struct{ Options }

// New makes the service.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{o}
}

// prefix begins the path of every call.
const prefix = "/ferrule/v1"

// handler gives status and body of an answer; a nil body is none.
type handler func(c echo.Context) (status int, body any, err error)

// routes is every call by method and path.
func (s *Service) routes() map[string]map[string]handler {
	return map[string]map[string]handler{
		prefix + "/join-codes": {http.MethodPost: s.makeJoinCode},
		prefix + "/agents":     {http.MethodGet: s.listAgents},
		prefix + "/agents/:id": {http.MethodDelete: s.removeAgent},
		prefix + "/sites":      {http.MethodGet: s.listSites},
	}
}

// Register adds the routes.
func (s *Service) Register(e *echo.Echo) {
	for path, methods := range s.routes() {
		for method, h := range methods {
			e.Add(method, path, s.serve(h))
		}
	}
	e.GET("/ferrule/openapi.yaml", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/yaml", openapi.FerruleYAML)
	})
	e.Any("/ferrule/*", s.serve(func(c echo.Context) (int, any, error) {
		r := c.Request()
		return 0, nil, metal.Errorf(metal.NotFound, "There is no %s %s here.", r.Method, r.URL.Path)
	}))
}

// serve wraps a handler with what all calls share.
func (s *Service) serve(h handler) echo.HandlerFunc {
	return func(c echo.Context) error {
		who, err := s.Auth.Authenticate(c.Request())
		if err == nil {
			err = s.authorize(who, c.Request().Method)
		}
		if err != nil {
			return s.refuse(c, err)
		}
		status, body, err := h(c)
		switch {
		case err != nil:
			return s.refuse(c, err)
		case body == nil:
			return c.NoContent(status)
		}
		c.Response().Header().Set("Cache-Control", "no-store")
		return c.JSON(status, body)
	}
}

// authorize asks the policy on reading, or on all else.
func (s *Service) authorize(who *auth.Identity, method string) error {
	if s.Policy == nil {
		return nil
	}
	name := "ferrule:write"
	if method == http.MethodGet {
		name = "ferrule:read"
	}
	return s.Policy.Authorize(name, who.Credentials().Values(), nil)
}
