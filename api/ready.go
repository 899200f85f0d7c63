package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"ferrule/hardware"
	"ferrule/metal"
)

// Readiness says whether requests can be served now, and for which hardware types
// no work can be done.
type Readiness struct {
	Err      error             // the database cannot be used
	Unusable map[string]string // enabled hardware types, each with the reason and the remedy
}

// Ready looks at the database and at who serves the enabled hardware types.
func (s *Server) Ready(ctx context.Context) Readiness {
	if err := s.store.Ping(ctx); err != nil {
		return Readiness{Err: err}
	}
	list, err := s.store.Conductors(ctx)
	if err != nil {
		return Readiness{Err: err}
	}
	unusable := map[string]string{}
	for _, h := range s.catalogue.HardwareTypes() {
		if why := s.unusable(h, list); why != "" {
			unusable[h.Name] = why
		}
	}
	return Readiness{Unusable: unusable}
}

func (s *Server) unusable(h hardware.Type, list []metal.Conductor) string {
	serves := func(c metal.Conductor) bool { return slices.Contains(c.Drivers, h.Name) }
	online := func(c metal.Conductor) bool { return serves(c) && c.Alive(s.now(), s.agentTimeout) }
	switch {
	case slices.ContainsFunc(list, online):
		return ""
	case h.Host == hardware.HostedHere:
		return "no conductor is on line; see whether one runs on this database"
	case slices.ContainsFunc(list, serves):
		return "the site agents that serve it are off line; see whether they run and reach the control plane"
	}
	return "no site agent that serves it has joined; make a join code with \"ferrule join-code\" and join one"
}

// lines are for the user, in the order of the types' names.
func (r Readiness) lines() string {
	text := ""
	for _, name := range slices.Sorted(maps.Keys(r.Unusable)) {
		text += fmt.Sprintf("%s cannot be used: %s\n", name, r.Unusable[name])
	}
	return text
}

// readyz answers 503 while the database is away, and while the process waits for
// an agent of its own. Hardware types that only agents elsewhere serve are named
// in the answer and do not change the status: the API serves without them.
func (s *Server) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), 5*time.Second)
	defer cancel()
	r := s.Ready(ctx)
	switch {
	case r.Err != nil:
		return c.String(http.StatusServiceUnavailable, "not ready: "+r.Err.Error()+"\n")
	case len(r.Unusable) > 0 && s.ownAgent != nil && s.ownAgent():
		return c.String(http.StatusServiceUnavailable, "not ready: the agent of this process is not on line yet\n"+r.lines())
	}
	return c.String(http.StatusOK, "ready\n"+r.lines())
}
