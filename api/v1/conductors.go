package v1

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

func (s *Service) listConductors(c *call) error {
	page, err := s.page(c, openapi.ConductorFields, isHostPort)
	if err != nil {
		return err
	}
	fields, err := listMode(c, openapi.ConductorFields)
	if err != nil {
		return err
	}
	list, err := s.store.Conductors(c.Request().Context())
	if err != nil {
		return err
	}
	if list, err = pageConductors(slices.Clone(list), page); err != nil {
		return err
	}
	b := []byte(`{"conductors":[`)
	last := ""
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.appendConductor(b, c, &list[i], fields)
		last = list[i].Hostname
	}
	return c.json(http.StatusOK, appendNext(append(b, ']'), c, "conductors", page, len(list), last, nextFields(c, "hostname", "conductor_group", "alive")))
}

// pageConductors sorts and cuts: there are few conductors.
func pageConductors(list []metal.Conductor, page store.Page) ([]metal.Conductor, error) {
	key, ok := conductorKeys[page.SortKey]
	if !ok {
		return nil, badRequest("The sort_key value %q is an invalid field for sorting", page.SortKey)
	}
	slices.SortStableFunc(list, func(a, b metal.Conductor) int {
		order := cmp.Or(key(a, b), cmp.Compare(a.ID, b.ID))
		if page.Desc {
			return -order
		}
		return order
	})
	if page.Marker != "" {
		at := slices.IndexFunc(list, func(c metal.Conductor) bool { return c.Hostname == page.Marker })
		if at < 0 {
			return nil, notFound("Conductor %s could not be found.", page.Marker)
		}
		list = list[at+1:]
	}
	return list[:min(int64(len(list)), page.Limit)], nil
}

var conductorKeys = map[string]func(a, b metal.Conductor) int{
	"id":              func(a, b metal.Conductor) int { return cmp.Compare(a.ID, b.ID) },
	"hostname":        func(a, b metal.Conductor) int { return strings.Compare(a.Hostname, b.Hostname) },
	"conductor_group": func(a, b metal.Conductor) int { return strings.Compare(a.ConductorGroup, b.ConductorGroup) },
	"created_at":      func(a, b metal.Conductor) int { return a.CreatedAt.Compare(b.CreatedAt) },
	"updated_at":      func(a, b metal.Conductor) int { return a.UpdatedAt.Compare(b.UpdatedAt) },
}

func (s *Service) getConductor(c *call) error {
	hostname := c.Param("hostname")
	if !isHostPort(hostname) {
		return badRequest("Invalid host name: %s", hostname)
	}
	conductor, err := s.store.Conductor(c.Request().Context(), hostname)
	if err != nil {
		return err
	}
	fields := detailView(openapi.ConductorFields, c.version)
	if names, given := c.query.list("fields"); given {
		if fields, err = selectView(openapi.ConductorFields, c.version, names); err != nil {
			return err
		}
	}
	return c.json(http.StatusOK, s.appendConductor(nil, c, &conductor, fields))
}

func isHostPort(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\n/") }

func (s *Service) appendConductor(b []byte, c *call, conductor *metal.Conductor, fields view) []byte {
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, openapi.ConductorFields.Fields[f].Name)
		switch f {
		case openapi.ConductorHostname:
			b = appendString(b, conductor.Hostname)
		case openapi.ConductorConductorGroup:
			b = appendString(b, conductor.ConductorGroup)
		case openapi.ConductorAlive:
			b = appendBool(b, conductor.Alive(s.now(), s.config.Conductor.HeartbeatTimeout))
		case openapi.ConductorDrivers:
			b = appendStrings(b, conductor.Drivers)
		case openapi.ConductorCreatedAt:
			b = appendTime(b, conductor.CreatedAt)
		case openapi.ConductorUpdatedAt:
			b = appendTime(b, conductor.UpdatedAt)
		case openapi.ConductorLinks:
			b = appendLinks(b, c.base, "conductors", conductor.Hostname)
		}
	}
	return append(b, '}')
}
