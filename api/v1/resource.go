package v1

import (
	"context"
	"net/http"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// resource is one kind of object with what its handlers share: how each field
// of the registry is written out, and which a request may set.
type resource[T any] struct {
	registry *openapi.Resource
	noun     string                   // what texts call one
	newer    bool                     // its schema is of Ironic's newer kind, whose errors do not say what they are about
	path     string                   // of the collection, under /v1
	key      string                   // of the array in a list
	required []string                 // in the body of a create
	listed   []string                 // the default view, in the order in which next links name it
	enum     bool                     // the names that fields= takes are a schema's
	strict   bool                     // a name in fields= that there is not is refused before all else
	unknown  bool                     // in fields=, what is newer than the version is unknown, not unacceptable
	marker   func(s string) bool      // how a list's marker looks; nil: a UUID
	prune    func(doc map[string]any) // of a patched document, what is dropped without a word
	uuid     func(v *T) string
	fields   map[string]property[T]
	shown    []shower[T] // by the field's index in the registry
}

// shower appends a field's value.
type shower[T any] func(b []byte, v *T, e *encoding) []byte

// property is one field: how it is shown, how it reads in the document that a
// patch works on, and how a value is checked and stored.
type property[T any] struct {
	show shower[T] // nil: of requests only
	get  func(v *T) any
	set  func(v *T, value any) error
}

func newResource[T any](r resource[T]) *resource[T] {
	r.shown = make([]shower[T], len(r.registry.Fields))
	for i, f := range r.registry.Fields {
		r.shown[i] = r.fields[f.Name].show
	}
	return &r
}

// append appends one object in the view.
func (r *resource[T]) append(b []byte, v *T, fields view, e *encoding) []byte {
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, r.registry.Fields[f].Name)
		b = r.shown[f](b, v, e)
	}
	return append(b, '}')
}

// answer writes one object with every field that the version shows.
func (r *resource[T]) answer(c *call, status int, v *T) error {
	return r.answerIn(c, status, v, detailView(r.registry, c.version))
}

func (r *resource[T]) answerIn(c *call, status int, v *T, fields view) error {
	e := c.encoding()
	return c.send(status, func(b []byte) []byte { return r.append(b, v, fields, e) })
}

// created answers a create.
func (r *resource[T]) created(c *call, v *T) error {
	c.location(r.path + "/" + r.uuid(v))
	return r.answer(c, http.StatusCreated, v)
}

// answerOne shows one object: every field, or those that fields= names.
func (r *resource[T]) answerOne(c *call, v *T) error {
	fields, err := r.oneView(c)
	if err != nil {
		return err
	}
	return r.answerIn(c, http.StatusOK, v, fields)
}

func (r *resource[T]) oneView(c *call) (view, error) {
	if names, given := c.query.list("fields"); given {
		return r.selected(c, names)
	}
	return detailView(r.registry, c.version), nil
}

// gate refuses parameters that are newer than the request.
func (r *resource[T]) gate(c *call) error {
	if names, given := c.query.list("fields"); given && r.strict {
		if _, err := selectView(r.registry, openapi.MaxVersion, names); err != nil {
			return err
		}
	}
	return c.query.gate(c.op)
}

// selected is the view of the fields that fields= names.
func (r *resource[T]) selected(c *call, names []string) (view, error) {
	if r.enum {
		version := openapi.MaxVersion
		if r.unknown {
			version = c.version
		}
		if err := checkNames(r.registry, version, names); err != nil {
			return nil, err
		}
	}
	v, err := selectView(r.registry, c.version, names)
	if r.unknown && err != nil && asFault(err).Status == http.StatusNotAcceptable {
		return nil, badRequest("Field(s) %q are not valid in version %s", strings.Join(names, ", "), c.version)
	}
	return v, err
}

// list is a list as it is asked for: which page, in which view. collection is
// where its next link leads.
type list struct {
	page       store.Page
	fields     view
	names      []string // that a next link repeats
	collection string
}

// list reads what all lists have in common; detailed is a list under /detail.
func (r *resource[T]) list(s *Service, c *call, collection string, detailed bool) (list, error) {
	l := list{collection: collection}
	err := r.gate(c)
	if err != nil {
		return l, err
	}
	marker := r.marker
	if marker == nil {
		marker = isUUIDLike
	}
	if l.page, err = s.page(c, r.registry, marker); err != nil {
		return l, err
	}
	if detailed {
		l.fields = detailView(r.registry, c.version)
		return l, nil
	}
	if names, given := c.query.list("fields"); given && (r.unknown || r.enum) && !c.query.flag("detail") {
		l.fields, err = r.selected(c, names)
	} else {
		l.fields, err = listMode(c, r.registry)
	}
	if err != nil {
		return l, err
	}
	l.names = nextFields(c, r.listed...)
	return l, nil
}

// answerList writes a page.
func (r *resource[T]) answerList(c *call, l list, page []T) error {
	e := c.encoding()
	return c.send(http.StatusOK, func(b []byte) []byte {
		b = append(b, `{"`+r.key+`":[`...)
		last := ""
		for i := range page {
			if i > 0 {
				b = append(b, ',')
			}
			b = r.append(b, &page[i], l.fields, e)
			last = r.uuid(&page[i])
		}
		return appendNext(append(b, ']'), c, l.collection, l.page, len(page), last, l.names)
	})
}

// read stores every member of a create's body in v; unknown and missing ones
// are refused first.
func (r *resource[T]) read(v *T, body map[string]any) error {
	err := r.store(v, body)
	if r.newer {
		return err
	}
	return schemaOf(r.noun, err)
}

func (r *resource[T]) store(v *T, body map[string]any) error {
	if err := onlyKnown(body, creatable(r.registry)); err != nil {
		return err
	}
	for _, name := range r.required {
		if !has(body, name) {
			return missing(name)
		}
	}
	for _, f := range r.registry.Fields {
		if value, given := body[f.Name]; given && r.fields[f.Name].set != nil {
			if err := r.fields[f.Name].set(v, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// patch applies the operations to v's document and stores what they touch.
func (r *resource[T]) patch(v *T, ops []patchOp) error {
	if err := checkRoots(ops, r.registry); err != nil {
		return err
	}
	doc := map[string]any{}
	for _, name := range patchable(r.registry) {
		doc[name] = r.fields[name].get(v)
	}
	if err := applyPatch(doc, ops); err != nil {
		return err
	}
	if r.prune != nil {
		r.prune(doc)
	}
	for _, f := range r.registry.Fields {
		if !f.Patch || !touches(ops, f.Name) {
			continue
		}
		if err := r.fields[f.Name].set(v, doc[f.Name]); err != nil {
			return schemaOf("patch", err)
		}
	}
	return nil
}

// changes reads the patch in the body.
func (r *resource[T]) changes(c *call) ([]patchOp, error) {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return nil, err
	}
	return ops, checkRoots(ops, r.registry)
}

// ident is the object that the path names, by UUID or name.
func (c *call) ident(param string) (string, error) {
	ident := c.Param(param)
	if !isIdent(ident) {
		return "", badRequest("Expected UUID or name for %s: %s", param, ident)
	}
	return ident, nil
}

// uuidOf is the object that the path names, by UUID alone.
func (c *call) uuidOf(param string) (string, error) {
	uuid := c.Param(param)
	if !isUUIDLike(uuid) {
		return "", badRequest("Expected UUID for %s: %s", param, uuid)
	}
	return uuid, nil
}

// filledIn is the object or, where it is the zero text, a new UUID.
func filledIn(uuid string) string {
	if uuid == "" {
		return newUUID()
	}
	return uuid
}

// updates reports whether an operation sets root or something below it.
func updates(ops []patchOp, root string) bool {
	for _, op := range ops {
		if op.Root == root && op.Op != "remove" {
			return true
		}
	}
	return false
}

// withSuffix finds what ident names, also by the name with the ".json" that the
// path lost.
func withSuffix[T any](c *call, ident string, find func(ctx context.Context, ident string) (T, error)) (T, error) {
	v, err := find(c.Request().Context(), ident)
	if !arrivalOf(c).suffixCut || metal.ReasonOf(err) != metal.NotFound {
		return v, err
	}
	if w, again := find(c.Request().Context(), ident+".json"); again == nil {
		return w, nil
	}
	return v, err
}
