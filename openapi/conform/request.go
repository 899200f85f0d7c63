package conform

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"ferrule/openapi"
)

// Request is one that a server took.
type Request struct {
	Method, Path string // without the query
	Version      openapi.Version
	Query        url.Values
	Body         any // decoded JSON; nil: none
}

// CheckRequest says how a request departs from what the description says that
// clients may send.
func (d *Description) CheckRequest(r Request) error {
	doc, err := d.At(r.Version)
	if err != nil {
		return err
	}
	path := d.Route(r.Path)
	if path == "" {
		return fmt.Errorf("%s is no path", r.Path)
	}
	op := doc.Paths.Value(path).GetOperation(r.Method)
	if op == nil {
		return fmt.Errorf("%s %s is no operation", r.Method, path)
	}
	for name := range r.Query {
		if op.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			return fmt.Errorf("?%s is not described", name)
		}
	}
	if op.RequestBody == nil || r.Body == nil {
		return nil
	}
	schema := op.RequestBody.Value.Content.Get("application/json").Schema.Value
	if err := schema.VisitJSON(plain(schema, r.Body), openapi3.VisitAsRequest(), openapi3.EnableFormatValidation(), formats(doc)); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// plain writes the members of an object in the one way that a schema names:
// without null, which stands for what is left out, and with booleans and
// integers as such, where they are texts.
func plain(schema *openapi3.Schema, body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	out := map[string]any{}
	for name, value := range object {
		if value != nil {
			out[name] = plainValue(property(schema, name), value)
		}
	}
	return out
}

// property is the schema of an object's property, which may be in a part of it.
func property(schema *openapi3.Schema, name string) *openapi3.Schema {
	if ref, ok := schema.Properties[name]; ok {
		return ref.Value
	}
	for _, part := range schema.AllOf {
		if found := property(part.Value, name); found != nil {
			return found
		}
	}
	return nil
}

var words = map[string]bool{
	"1": true, "t": true, "true": true, "on": true, "y": true, "yes": true,
	"0": false, "f": false, "false": false, "off": false, "n": false, "no": false,
}

func plainValue(schema *openapi3.Schema, value any) any {
	text, ok := value.(string)
	if schema == nil || !ok {
		return value
	}
	if flag, known := words[strings.ToLower(text)]; known && schema.Type.Is("boolean") {
		return flag
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && schema.Type.Is("integer") {
		return n
	}
	return value
}
