package ferrule

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"ferrule/metal"
	"ferrule/store"
)

// Agent is a site's agent as operators see it.
type Agent struct {
	ID            string     `json:"id"`
	Site          string     `json:"site"`
	Hostname      string     `json:"hostname"`
	Version       string     `json:"version"`
	Labels        metal.JSON `json:"labels"`
	HardwareTypes []string   `json:"hardwareTypes"`
	Online        bool       `json:"online"`
	JoinedAt      time.Time  `json:"joinedAt"`
	LastSeenAt    *time.Time `json:"lastSeenAt"`
	RemovedAt     *time.Time `json:"removedAt"`
}

// Site is a site with the number of its agents.
type Site struct {
	Name         string     `json:"name"` // "" is the default site
	Labels       metal.JSON `json:"labels"`
	Agents       int        `json:"agents"`
	AgentsOnline int        `json:"agentsOnline"`
	CreatedAt    time.Time  `json:"createdAt"`
}

// AgentList and SiteList are the bodies of the two lists.
type (
	AgentList struct {
		Agents []Agent `json:"agents"`
	}
	SiteList struct {
		Sites []Site `json:"sites"`
	}
)

func (s *Service) listAgents(c echo.Context) (int, any, error) {
	rows, err := s.agents(c.Request().Context())
	if err != nil {
		return 0, nil, err
	}
	list := make([]Agent, 0, len(rows))
	for _, row := range rows {
		list = append(list, Agent{
			ID: row.ID, Site: row.Site, Hostname: row.Hostname, Version: row.Software, Labels: row.Labels,
			HardwareTypes: append([]string{}, row.HardwareTypes...), Online: s.online(row),
			JoinedAt: row.CreatedAt, LastSeenAt: row.LastSeenAt, RemovedAt: row.RevokedAt,
		})
	}
	return http.StatusOK, AgentList{list}, nil
}

// agents are the agents' rows, completed by the roster: an agent with a session
// is seen as long as the process is that holds it.
func (s *Service) agents(ctx context.Context) ([]store.Agent, error) {
	stored, err := s.Store.Agents(ctx)
	if err != nil {
		return nil, err
	}
	roster, err := s.Store.Conductors(ctx)
	if err != nil {
		return nil, err
	}
	rows := slices.Clone(stored)
	for i := range rows {
		at := slices.IndexFunc(roster, func(c metal.Conductor) bool { return c.AgentID == rows[i].ID })
		if at >= 0 && rows[i].SessionID != "" && (rows[i].LastSeenAt == nil || roster[at].UpdatedAt.After(*rows[i].LastSeenAt)) {
			seen := roster[at].UpdatedAt
			rows[i].LastSeenAt = &seen
		}
	}
	return rows, nil
}

// online asks for a sign of life too: a control plane that was cut off leaves
// its agents' sessions open in the database.
func (s *Service) online(a store.Agent) bool {
	return a.SessionID != "" && a.LastSeenAt != nil && s.Now().Sub(*a.LastSeenAt) <= s.AgentTimeout
}

func (s *Service) listSites(c echo.Context) (int, any, error) {
	sites, err := s.Store.Sites(c.Request().Context())
	if err != nil {
		return 0, nil, err
	}
	agents, err := s.agents(c.Request().Context())
	if err != nil {
		return 0, nil, err
	}
	list := make([]Site, 0, len(sites))
	for _, row := range sites {
		site := Site{Name: row.Name, Labels: row.Labels, CreatedAt: row.CreatedAt}
		for _, a := range agents {
			if a.Site != row.Name || a.RevokedAt != nil {
				continue
			}
			site.Agents++
			if s.online(a) {
				site.AgentsOnline++
			}
		}
		list = append(list, site)
	}
	return http.StatusOK, SiteList{list}, nil
}

func (s *Service) removeAgent(c echo.Context) (int, any, error) {
	if s.Agents == nil {
		return 0, nil, metal.Errorf(metal.Unavailable, "This process does not remove agents.")
	}
	id := c.Param("id")
	if uuid.Validate(id) != nil {
		return 0, nil, metal.Errorf(metal.NotFound, "Agent %q could not be found.", id)
	}
	if err := s.Agents.RemoveAgent(c.Request().Context(), id); err != nil {
		return 0, nil, err
	}
	s.Logger.InfoContext(c.Request().Context(), "agent removed", "agent", id)
	return http.StatusNoContent, nil, nil
}
