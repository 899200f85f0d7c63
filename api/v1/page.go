package v1

import (
	"net/url"
	"strconv"
	"strings"

	"ferrule/openapi"
	"ferrule/store"
)

// page reads limit, marker, sort_key and sort_dir. checkMarker is how a marker
// looks.
func (s *Service) page(c *call, r *openapi.Resource, checkMarker func(string) bool) (store.Page, error) {
	p := store.Page{Limit: int64(s.config.API.MaxLimit), SortKey: "id"}
	if v := c.query.text("limit"); v != nil {
		n, _ := strconv.ParseInt(strings.TrimSpace(*v), 10, 64)
		if n <= 0 {
			return p, badRequest("Limit must be positive")
		}
		p.Limit = min(n, p.Limit)
	}
	if v := c.query.text("marker"); v != nil {
		if !checkMarker(*v) {
			return p, badRequest("The marker %q is not valid.", *v)
		}
		p.Marker = *v
	}
	switch dir := c.query.text("sort_dir"); {
	case dir == nil || *dir == "asc":
	case *dir == "desc":
		p.Desc = true
	default:
		return p, badRequest("Invalid sort direction: %s. Acceptable values are 'asc' or 'desc'", *dir)
	}
	if v := c.query.text("sort_key"); v != nil && *v != "" {
		p.SortKey = *v
		if f, _, ok := r.Field(*v); ok {
			if !f.VisibleAt(c.version) && !f.EarlySort {
				return p, notAcceptable()
			}
			if !f.Sort {
				return p, badRequest("The sort_key value %q is an invalid field for sorting", *v)
			}
		}
	}
	return p, nil
}

// listMode is how a list shows its items: fields= or detail= or the default.
func listMode(c *call, r *openapi.Resource) (view, error) {
	names, given := c.query.list("fields")
	switch {
	case given && c.query.flag("detail"):
		return nil, badRequest("Can not specify ?detail=True and fields in the same request.")
	case given:
		return selectView(r, c.version, names)
	case c.query.flag("detail"):
		return detailView(r, c.version), nil
	}
	return listView(r, c.version), nil
}

// echoed is a parameter's value as a next link repeats it.
func echoed(p *openapi.Param, values []string) string {
	if p.Kind != openapi.ParamBool {
		return strings.Join(values, ",")
	}
	if on, _ := parseBool(values[0]); on {
		return "True"
	}
	return "False"
}

// nextFields are the fields that a next link names: those asked for, or those of
// the default view in the resource's own order, where fields= is known at all.
func nextFields(c *call, defaults ...string) []string {
	if names, given := c.query.list("fields"); given {
		return names
	}
	if c.version < 8 || c.query.flag("detail") {
		return nil
	}
	return defaults
}

// appendNext ends a list: a page that is just full has a link to the next one,
// which repeats everything that decides what the list holds.
func appendNext(b []byte, c *call, collection string, p store.Page, count int, last string, names []string) []byte {
	if count == 0 || int64(count) != p.Limit {
		return append(b, '}')
	}
	var q strings.Builder
	write := func(key, value string) {
		if q.Len() > 0 {
			q.WriteByte('&')
		}
		q.WriteString(key + "=" + strings.ReplaceAll(url.QueryEscape(value), "%2C", ","))
	}
	dir := "asc"
	if p.Desc {
		dir = "desc"
	}
	write("sort_key", p.SortKey)
	write("sort_dir", dir)
	for i := range c.op.Params {
		param := &c.op.Params[i]
		values, given := c.query.raw[param.Name]
		switch param.Name {
		case "limit", "marker", "sort_key", "sort_dir", "fields":
			continue
		}
		if given {
			write(param.Name, echoed(param, values))
		}
	}
	if len(names) > 0 {
		write("fields", strings.Join(names, ","))
	}
	write("limit", strconv.FormatInt(p.Limit, 10))
	write("marker", last)
	b = append(b, `,"next":`...)
	return append(appendString(b, c.base+"/v1/"+collection+"?"+q.String()), '}')
}
