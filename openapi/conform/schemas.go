package conform

import (
	"iter"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Schemas goes through every schema of a document once, with where it is first
// met.
func Schemas(doc *openapi3.T) iter.Seq2[*openapi3.Schema, string] {
	return func(yield func(*openapi3.Schema, string) bool) {
		w := &walk{seen: map[*openapi3.Schema]bool{}, yield: yield}
		for name, schema := range doc.Components.Schemas {
			w.schema(schema, name)
		}
		for name, response := range doc.Components.Responses {
			w.content(response.Value.Content, name)
		}
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				w.operation(op, method+" "+path)
			}
		}
	}
}

type walk struct {
	seen  map[*openapi3.Schema]bool
	yield func(*openapi3.Schema, string) bool
	done  bool
}

func (w *walk) operation(op *openapi3.Operation, place string) {
	if op.RequestBody != nil {
		w.content(op.RequestBody.Value.Content, place+" request")
	}
	for status, response := range op.Responses.Map() {
		w.content(response.Value.Content, place+" "+status)
	}
}

func (w *walk) content(content openapi3.Content, place string) {
	for _, media := range content {
		w.schema(media.Schema, place)
	}
}

func (w *walk) schema(ref *openapi3.SchemaRef, place string) {
	if ref == nil || w.done || w.seen[ref.Value] {
		return
	}
	w.seen[ref.Value] = true
	if name, named := strings.CutPrefix(ref.Ref, "#/components/schemas/"); named {
		place = name
	}
	if !w.yield(ref.Value, place) {
		w.done = true
		return
	}
	for name, property := range ref.Value.Properties {
		w.schema(property, place+"."+name)
	}
	w.schema(ref.Value.Items, place+"[]")
	w.schema(ref.Value.AdditionalProperties.Schema, place+".*")
	for _, list := range []openapi3.SchemaRefs{ref.Value.OneOf, ref.Value.AnyOf, ref.Value.AllOf} {
		for _, part := range list {
			w.schema(part, place)
		}
	}
}
