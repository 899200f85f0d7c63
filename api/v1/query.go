package v1

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"ferrule/openapi"
)

// query is the validated query of a request: every parameter belongs to the
// operation and has its type.
type query struct {
	raw     url.Values
	version openapi.Version
}

// parseQuery checks the query against the operation's parameters, unknown names
// and wrong types first, as Ironic's argument validation does.
func parseQuery(op *openapi.Operation, v openapi.Version, raw url.Values) (*query, error) {
	for name, values := range raw {
		p, ok := op.Param(name)
		if !ok {
			return nil, badRequest("Unexpected arguments: %s", name)
		}
		if err := checkParam(p, values); err != nil {
			return nil, err
		}
	}
	return &query{raw: raw, version: v}, nil
}

func checkParam(p *openapi.Param, values []string) error {
	if p.Kind != openapi.ParamList && len(values) > 1 {
		return badRequest("Expected one value for %s.", p.Name)
	}
	switch p.Kind {
	case openapi.ParamBool:
		if _, ok := parseBool(values[0]); !ok {
			return noBoolean(p.Name, values[0])
		}
	case openapi.ParamInt:
		if _, err := strconv.Atoi(strings.TrimSpace(values[0])); err != nil {
			return badRequest("Expected an integer for %s: %s", p.Name, values[0])
		}
	}
	for _, v := range values {
		if !utf8.ValidString(v) {
			return routeFault(http.StatusBadRequest)
		}
		if err := checkText(p.Name, v); err != nil {
			return err
		}
	}
	return nil
}

// gate refuses parameters that are newer than the request.
func (q *query) gate(op *openapi.Operation) error {
	for i := range op.Params {
		p := &op.Params[i]
		if _, given := q.raw[p.Name]; given && q.version < p.Min {
			if p.TooOld == 400 {
				return badRequest("Invalid query parameter ?%s received.", p.Name)
			}
			return notAcceptable()
		}
	}
	return nil
}

// text is a string parameter; nil where it is absent.
func (q *query) text(name string) *string {
	if v, ok := q.raw[name]; ok {
		return &v[0]
	}
	return nil
}

func (q *query) boolean(name string) *bool {
	if v, ok := q.raw[name]; ok {
		b, _ := parseBool(v[0])
		return &b
	}
	return nil
}

// flag is a boolean parameter of which absence means false.
func (q *query) flag(name string) bool {
	b := q.boolean(name)
	return b != nil && *b
}

// list is a comma list, lower-cased, trimmed and without doubles; repeated
// parameters add up. ok is false where it is absent.
func (q *query) list(name string) (items []string, ok bool) {
	values, ok := q.raw[name]
	if !ok {
		return nil, false
	}
	seen := map[string]bool{}
	items = []string{}
	for _, value := range values {
		for _, item := range strings.Split(value, ",") {
			item = strings.ToLower(strings.TrimSpace(item))
			if item != "" && !seen[item] {
				seen[item] = true
				items = append(items, item)
			}
		}
	}
	return items, true
}

// uuid checks that a parameter is a UUID where it is given.
func (q *query) uuid(name string) (*string, error) {
	v := q.text(name)
	if v != nil && !isUUIDLike(*v) {
		return nil, badRequest("Expected UUID for %s: %s", name, *v)
	}
	return v, nil
}

// ident checks that a parameter is a UUID or a name where it is given.
func (q *query) ident(name string) (*string, error) {
	v := q.text(name)
	if v != nil && !isIdent(*v) {
		return nil, badRequest("Expected UUID or name for %s: %s", name, *v)
	}
	return v, nil
}
