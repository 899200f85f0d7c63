package conform

import (
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"ferrule/openapi"
)

// free are the places in answers where Ironic itself lets stand whatever there
// is: JSON that clients or hardware wrote. Fields of the type object are such as
// well.
var free = map[string]string{
	"BIOSSetting.allowable_values[]":    "what the BIOS says",
	"Step.args":                         "the arguments are the step's",
	"RuleAction.args":                   "a list or an object, by the action",
	"RuleAction.loop":                   "a list or an object",
	"RuleCondition.args":                "a list or an object, by the condition",
	"RuleCondition.loop":                "a list or an object",
	"RamdiskNode.properties":            "a node's own",
	"RamdiskNode.instance_info":         "a node's own",
	"RamdiskNode.driver_internal_info":  "a node's own",
	"GET /v1/nodes/{node}/vmedia 200[]": "the slots are the driver's to describe",
	"/vendor_passthru/{method} 200":     "the answer is the vendor method's",
	"/vendor_passthru 200":              "the answer is the vendor method's",
}

// mayHoldAnything says whether a place is free.
func mayHoldAnything(place string) bool {
	for end := range free {
		if strings.HasSuffix(place, end) {
			return true
		}
	}
	resource, name, _ := strings.Cut(place, ".")
	for _, r := range openapi.Resources {
		if f, _, ok := r.Field(name); ok && r.Name == resource {
			return f.Kind == openapi.FieldObject
		}
	}
	return false
}

func read(t *testing.T) *Description {
	t.Helper()
	d, err := New(openapi.YAML)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// No schema of an answer says less than it could: an object names its
// properties, a list its items, and only what Ironic leaves open is open.
func TestNoSchemaIsLoose(t *testing.T) {
	t.Parallel()
	doc, err := read(t).At(openapi.MaxVersion)
	if err != nil {
		t.Fatal(err)
	}
	for schema, place := range Schemas(doc) {
		if place == "Patch[].value" || strings.Contains(place, " request") || mayHoldAnything(place) {
			continue
		}
		switch {
		case len(schema.OneOf)+len(schema.AllOf) > 0:
		case schema.Type == nil:
			t.Errorf("%s may be of any type", place)
		case schema.Type.Is("array") && schema.Items == nil:
			t.Errorf("%s may have any items", place)
		case schema.Type.Is("object") && !closed(schema):
			t.Errorf("%s may have any properties", place)
		}
	}
}

func closed(schema *openapi3.Schema) bool {
	more := schema.AdditionalProperties
	return more.Schema != nil || more.Has != nil && !*more.Has
}

// At each microversion an object may have the fields that the registry has
// there, of the registry's type, and no other.
func TestSchemasAreAsNarrowAsTheRegistry(t *testing.T) {
	t.Parallel()
	d := read(t)
	every := openapi.Version(1)
	if testing.Short() {
		every = openapi.MaxVersion - openapi.MinVersion // the first and the last
	}
	for v := openapi.MinVersion; v <= openapi.MaxVersion; v += every {
		doc, err := d.At(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range openapi.Resources {
			narrow(t, v, r, doc.Components.Schemas[r.Name].Value)
		}
	}
}

func narrow(t *testing.T, v openapi.Version, r *openapi.Resource, schema *openapi3.Schema) {
	t.Helper()
	if !closed(schema) || schema.AdditionalProperties.Schema != nil {
		t.Errorf("%s: %s may have any properties", v, r.Name)
	}
	for name := range schema.Properties {
		if f, _, ok := r.Field(name); !ok || !f.VisibleAt(v) && !schema.Properties[name].Value.WriteOnly {
			t.Errorf("%s: %s.%s is described, and the registry does not have it", v, r.Name, name)
		}
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		property, ok := schema.Properties[f.Name]
		if early := ok && !f.VisibleAt(v) && property.Value.WriteOnly; early {
			continue // of requests only
		}
		if ok != f.VisibleAt(v) {
			t.Errorf("%s: %s.%s is described: %v", v, r.Name, f.Name, ok)
		}
		if ok {
			narrowField(t, r.Name, f, property.Value)
		}
	}
}

func narrowField(t *testing.T, resource string, f *openapi.Field, schema *openapi3.Schema) {
	t.Helper()
	kind, format := string(f.Kind), ""
	if f.Kind == openapi.FieldUUID || f.Kind == openapi.FieldTime {
		kind, format = "string", kind
	}
	if !schema.Type.Is(kind) || format != "" && schema.Format != format || schema.Nullable != f.Nullable {
		t.Errorf("%s.%s: %v %s, nullable %v", resource, f.Name, schema.Type, schema.Format, schema.Nullable)
	}
	// Who generates requests from the schema must not write what is not the
	// client's, and an answer must not hold what is only asked for.
	if shown := f.List || f.Detail; schema.WriteOnly == shown || schema.ReadOnly != (shown && !f.Create) {
		t.Errorf("%s.%s: readOnly %v, writeOnly %v", resource, f.Name, schema.ReadOnly, schema.WriteOnly)
	}
}

func TestRoutesAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	d := read(t)
	for path, want := range map[string]string{
		"/v1/nodes/detail": "/v1/nodes/detail", "/v1/nodes/n": "/v1/nodes/{node}", "/v1/nodes/n/nosuch": "",
		"/v1/nodes/n/vendor_passthru/methods": "/v1/nodes/{node}/vendor_passthru/methods",
		"/v1/volume/targets/x":                "/v1/volume/targets/{target}", "/": "/",
	} {
		if got := d.Route(path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestWhatIsNotDescribedIsFound(t *testing.T) {
	t.Parallel()
	d := read(t)
	link := map[string]any{"href": "http://h/v1/shards", "rel": "self"}
	cases := map[string]struct {
		ok bool
		a  Answer
	}{
		"a described answer": {true, Answer{Path: "/v1/shards", Version: 82, Status: 200, Body: shard(map[string]any{"name": "s", "count": 1.0})}},
		"an error":           {true, Answer{Path: "/v1/shards", Version: 82, Status: 404, Body: fault(`{"faultcode":"Client","faultstring":"s","debuginfo":null}`)}},
		"a refused path":     {true, Answer{Path: "/v1/nosuch", Version: 82, Status: 404, Body: fault(`{"code":404,"title":"t","description":""}`)}},
		"a failure":          {false, Answer{Path: "/v1/shards", Version: 82, Status: 500, Body: fault(`{"faultcode":"Server","faultstring":"s","debuginfo":null}`)}},
		"an unknown path":    {false, Answer{Path: "/v1/nosuch", Version: 82, Status: 200, Body: map[string]any{}}},
		"no error text":      {false, Answer{Path: "/v1/shards", Version: 82, Status: 404, Body: fault("not found")}},
		"another error":      {false, Answer{Path: "/v1/shards", Version: 82, Status: 404, Body: fault(`{"message":"s"}`)}},
		"a field too many":   {false, Answer{Path: "/v1/shards", Version: 82, Status: 200, Body: shard(map[string]any{"name": "s", "count": 1.0, "more": 1.0})}},
		"a wrong type":       {false, Answer{Path: "/v1/shards", Version: 82, Status: 200, Body: shard(map[string]any{"name": "s", "count": "1"})}},
		"no body":            {false, Answer{Path: "/v1/shards", Version: 82, Status: 200, Empty: true}},
		"an early field":     {false, Answer{Path: "/v1/nodes/n", Version: 81, Status: 200, Body: map[string]any{"shard": "s"}}},
		"the field in time":  {true, Answer{Path: "/v1/nodes/n", Version: 82, Status: 200, Body: map[string]any{"shard": "s"}}},
		"no time":            {false, Answer{Path: "/v1/nodes/n", Version: 82, Status: 200, Body: map[string]any{"created_at": "2026-01-02T03:04:05"}}},
		"no address":         {false, Answer{Path: "/v1/nodes/n", Version: 82, Status: 200, Body: map[string]any{"links": []any{map[string]any{"href": "v1", "rel": "self"}}}}},
		"no request id":      {false, Answer{Path: "/v1/shards", Version: 82, Status: 200, Header: http.Header{}, Body: shard(map[string]any{"name": "s"})}},
		"an address":         {true, Answer{Path: "/v1/nodes/n", Version: 82, Status: 200, Body: map[string]any{"links": []any{link}}}},
	}
	for name, c := range cases {
		c.a.Method = "GET"
		if err := d.Check(c.a); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func shard(fields map[string]any) any { return map[string]any{"shards": []any{fields}} }

func fault(text string) any { return map[string]any{"error_message": text} }
