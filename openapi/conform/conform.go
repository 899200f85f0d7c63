// Package conform holds answers to the description: the status has to be one
// that the operation may give, and the body what the schema says at the
// microversion of the request. It is for tests; nothing that serves imports it.
package conform

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"ferrule/openapi"
)

// Answer is what a server said to one request.
type Answer struct {
	Method, Path string // without the query
	Version      openapi.Version
	Status       int
	Header       http.Header // nil: not looked at
	Body         any         // decoded JSON
	Empty        bool
}

// Description is the description as it reads at each microversion.
type Description struct {
	raw     []byte
	changes []openapi.Version // at which some property comes or has gone, in order
	paths   []pattern

	mu sync.Mutex
	at map[openapi.Version]*openapi3.T // by the change that it is read at
}

// New reads the description.
func New(raw []byte) (*Description, error) {
	d := &Description{raw: raw, at: map[openapi.Version]*openapi3.T{}}
	doc, err := load(raw)
	if err != nil {
		return nil, err
	}
	for path := range doc.Paths.Map() {
		d.paths = append(d.paths, newPattern(path))
	}
	changes := map[openapi.Version]bool{openapi.MinVersion: true}
	for schema := range Schemas(doc) {
		for _, property := range schema.Properties {
			first, last := lifetime(property.Value)
			changes[first], changes[last+1] = true, true
		}
	}
	d.changes = slices.Sorted(maps.Keys(changes))
	return d, nil
}

func load(raw []byte) (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("read description: %w", err)
	}
	return doc, nil
}

// At is the description without what a microversion does not have.
func (d *Description) At(v openapi.Version) (*openapi3.T, error) {
	later := sort.Search(len(d.changes), func(i int) bool { return d.changes[i] > v })
	v = d.changes[max(later-1, 0)]
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc, ok := d.at[v]; ok {
		return doc, nil
	}
	doc, err := load(d.raw)
	if err != nil {
		return nil, err
	}
	for schema := range Schemas(doc) {
		prune(schema, v)
	}
	d.at[v] = doc
	return doc, nil
}

// prune takes out the properties that do not exist at v.
func prune(schema *openapi3.Schema, v openapi.Version) {
	for name, property := range schema.Properties {
		first, last := lifetime(property.Value)
		switch {
		case v < first && takenEarly(property.Value):
			early := *property.Value
			early.ReadOnly, early.WriteOnly = false, true
			schema.Properties[name] = early.NewRef()
		case v < first || v > last:
			delete(schema.Properties, name)
		}
	}
}

// takenEarly reports whether creations may hold a property before answers do.
func takenEarly(property *openapi3.Schema) bool {
	ext, _ := property.Extensions["x-openstack"].(map[string]any)
	early, _ := ext["early"].([]any)
	return slices.Contains(early, any("create"))
}

// lifetime is the first and the last microversion that has a property.
func lifetime(property *openapi3.Schema) (first, last openapi.Version) {
	ext, _ := property.Extensions["x-openstack"].(map[string]any)
	return minor(ext["min-ver"], openapi.MinVersion), minor(ext["max-ver"], openapi.MaxVersion)
}

func minor(word any, otherwise openapi.Version) openapi.Version {
	text, _ := word.(string)
	n, err := strconv.Atoi(strings.TrimPrefix(text, "1."))
	if err != nil {
		return otherwise
	}
	return openapi.Version(n)
}

// pattern is a path of the description that can tell whether a path is one of it.
type pattern struct {
	path   string
	match  *regexp.Regexp
	braces int
}

var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

func newPattern(path string) pattern {
	quoted := parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
	return pattern{path: path, match: regexp.MustCompile("^" + quoted + "$"), braces: strings.Count(path, "{")}
}

// Route is the path of the description that a request's path is one of, or "".
// Words win over parameters, as they do in routing.
func (d *Description) Route(path string) string {
	found := pattern{braces: 1 << 10}
	for _, p := range d.paths {
		if p.braces < found.braces && p.match.MatchString(path) {
			found = p
		}
	}
	return found.path
}

// Check says how an answer departs from the description. What the description
// has no operation for may only be refused.
func (d *Description) Check(a Answer) error {
	doc, err := d.At(a.Version)
	if err != nil {
		return err
	}
	var responses *openapi3.Responses
	if path := d.Route(a.Path); path != "" {
		if op := doc.Paths.Value(path).GetOperation(a.Method); op != nil {
			responses = op.Responses
		}
	}
	if responses == nil {
		return checkRefusal(doc, a)
	}
	ref := responses.Status(a.Status)
	if ref == nil {
		return fmt.Errorf("status %d is not described", a.Status)
	}
	if err := checkHeaders(doc, ref.Value, a); err != nil {
		return err
	}
	return checkBody(doc, ref.Value, a)
}

func checkHeaders(doc *openapi3.T, response *openapi3.Response, a Answer) error {
	if a.Header == nil {
		return nil
	}
	for name, header := range response.Headers {
		value := a.Header.Get(name)
		if value == "" && !header.Value.Required {
			continue
		}
		if err := header.Value.Schema.Value.VisitJSON(value, openapi3.EnableFormatValidation(), formats(doc)); err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
	}
	return nil
}

// checkRefusal holds an answer to a request that is no operation to what a
// refusal is.
func checkRefusal(doc *openapi3.T, a Answer) error {
	if a.Method == http.MethodOptions && a.Status == http.StatusOK && a.Empty {
		return nil // every path lets browsers ask
	}
	if a.Status < 400 || a.Status > 499 {
		return fmt.Errorf("status %d for no operation", a.Status)
	}
	return checkBody(doc, doc.Components.Responses["Error"].Value, a)
}

func checkBody(doc *openapi3.T, response *openapi3.Response, a Answer) error {
	media := response.Content.Get("application/json")
	if a.Empty {
		if media != nil && a.Method != http.MethodHead {
			return errors.New("a body is described and there is none")
		}
		return nil
	}
	if media == nil {
		return errors.New("no body is described")
	}
	if err := media.Schema.Value.VisitJSON(a.Body, openapi3.VisitAsResponse(), openapi3.EnableFormatValidation(), formats(doc)); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}
