package v1

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ferrule/metal"
	"ferrule/metal/pytext"
	"ferrule/openapi"
)

// patchOp is one operation of a JSON patch. Ironic takes add, replace and
// remove only, so RFC 6902's machinery for the others is not needed; what it
// refuses and where is its own (Ironic: common/args.patch).
type patchOp struct {
	Op       string
	Path     string
	Root     string
	Sub      []string // the segments below the root, unescaped
	Value    any
	HasValue bool
}

// patchPath is how a path looks. From 1.98 on it may hold the escapes of RFC
// 6901, which Ironic's pattern refuses though its documentation promises them.
var (
	patchPath   = regexp.MustCompile(`^(/[\p{L}\p{N}_-]+)+$`)
	escapedPath = regexp.MustCompile(`^(/(?:[\p{L}\p{N}_-]|~[01])+)+$`)
	freePath    = regexp.MustCompile(`(?s)^/.+$`)
)

// ironicPath is the pattern of paths that Ironic's refusals show.
const ironicPath = `^(/[\w-]+)+$`

var patchVerbs = []string{"add", "replace", "remove"}

// fails is an operation that cannot be applied, in the words of the library
// that Ironic asks (Ironic: api_utils.apply_jsonpatch, exception.PatchError).
func (op patchOp) fails(format string, args ...any) error {
	shownOp := map[string]any{"op": op.Op, "path": op.Path}
	if op.HasValue {
		shownOp["value"] = unsecret(op.Value)
		if slices.ContainsFunc(op.Sub, metal.IsSecretKey) {
			shownOp["value"] = metal.Masked
		}
	}
	return badRequest("Couldn't apply patch '%s'. Reason: %s", pytext.Repr(shownOp), fmt.Sprintf(format, args...))
}

// parsePatch reads a patch and checks what Ironic's schema checks.
func parsePatch(raw []byte, version openapi.Version) ([]patchOp, error) {
	path := patchPath
	if version >= 98 {
		path = escapedPath
	}
	ops, err := parseOps(raw, path)
	return ops, schemaOf("patch", err)
}

// parseFreePatch reads a patch whose paths may hold anything.
func parseFreePatch(raw []byte) ([]patchOp, error) { return parseOps(raw, freePath) }

func parseOps(raw []byte, path *regexp.Regexp) ([]patchOp, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	items, ok := v.([]any)
	if !ok {
		return nil, wrongType(v, "array")
	}
	ops := make([]patchOp, 0, len(items))
	for _, item := range items {
		op, err := parseOp(item, path)
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func parseOp(item any, pattern *regexp.Regexp) (patchOp, error) {
	m, ok := item.(map[string]any)
	if !ok {
		return patchOp{}, wrongType(item, "object")
	}
	if err := onlyKnown(m, among("op", "path", "value")); err != nil {
		return patchOp{}, err
	}
	for _, name := range []string{"op", "path"} {
		if !has(m, name) {
			return patchOp{}, missing(name)
		}
	}
	op, _ := m["op"].(string)
	if !slices.Contains(patchVerbs, op) {
		return patchOp{}, notOneOf(m["op"], patchVerbs)
	}
	path, ok := m["path"].(string)
	if !ok {
		return patchOp{}, wrongType(m["path"], "string")
	}
	if !pattern.MatchString(path) {
		return patchOp{}, noMatch(path, ironicPath)
	}
	if strings.Count(path, "/") > mostNested {
		return patchOp{}, badRequest("The path of an operation has at most %d parts.", mostNested)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
		if err := metal.RefuseRef(segments[i]); err != nil {
			return patchOp{}, err
		}
	}
	value, given := m["value"]
	if op != "remove" && !given {
		return patchOp{}, patchOp{Op: op, Path: path}.fails("The operation does not contain a 'value' member")
	}
	return patchOp{Op: op, Path: path, Root: segments[0], Sub: segments[1:], Value: value, HasValue: given}, nil
}

// checkRoots refuses operations on what the resource does not let change.
func checkRoots(ops []patchOp, r *openapi.Resource) error {
	for _, op := range ops {
		f, _, ok := r.Field(op.Root)
		if !ok || !f.Patch {
			return badRequest("Cannot patch %s. Only the following can be updated: %s", op.Path, strings.Join(patchable(r), ", "))
		}
	}
	return nil
}

// creatable tests for the fields that a create may set.
func creatable(r *openapi.Resource) func(name string) bool {
	return func(name string) bool {
		f, _, ok := r.Field(name)
		return ok && f.Create
	}
}

func patchable(r *openapi.Resource) []string {
	var out []string
	for _, f := range r.Fields {
		if f.Patch {
			out = append(out, f.Name)
		}
	}
	return out
}

// values are the values that operations set at the exact path.
func patchValues(ops []patchOp, path string) []any {
	var out []any
	for _, op := range ops {
		if op.Path == path && op.Op != "remove" {
			out = append(out, op.Value)
		}
	}
	return out
}

// touches reports whether an operation is on the root or below it.
func touches(ops []patchOp, root string) bool {
	for _, op := range ops {
		if op.Root == root {
			return true
		}
	}
	return false
}

// applyPatch applies the operations in order to the document, which has every
// root; the first failure ends it.
func applyPatch(doc map[string]any, ops []patchOp) error {
	for _, op := range ops {
		if err := applyOp(doc, op); err != nil {
			return err
		}
	}
	return nil
}

func applyOp(doc map[string]any, op patchOp) error {
	if len(op.Sub) == 0 {
		if op.Op == "remove" {
			doc[op.Root] = nil
		} else {
			doc[op.Root] = cloneValue(op.Value)
		}
		return nil
	}
	var parent any = doc
	keys := append([]string{op.Root}, op.Sub...)
	for _, key := range keys[:len(keys)-1] {
		next, ok := member(parent, key)
		if !ok {
			return op.notFound(parent, key)
		}
		parent = next
	}
	last := keys[len(keys)-1]
	switch p := parent.(type) {
	case map[string]any:
		if _, exists := p[last]; !exists && op.Op != "add" {
			return op.fails("can't %s a non-existent object %s", op.Op, shown(last))
		}
		if op.Op == "remove" {
			delete(p, last)
		} else {
			p[last] = cloneValue(op.Value)
		}
		return nil
	case []any:
		list, why := applyToList(p, op, last)
		if why != "" {
			return op.fails("%s", why)
		}
		return setMember(doc, keys[:len(keys)-1], list)
	}
	return op.notFound(parent, last)
}

// notFound says why there is nothing of this name in parent.
func (op patchOp) notFound(parent any, key string) error {
	switch parent.(type) {
	case map[string]any:
		return op.fails("member %s not found in %s", shown(key), shown(parent))
	case []any:
		if !isIndex(key) {
			return op.fails("%s is not a valid sequence index", shown(key))
		}
		return op.fails("index %s is out of bounds", shown(key))
	}
	if parent == nil {
		return op.fails("Document '<class 'NoneType'>' does not support indexing, must be mapping/sequence or support __getitem__")
	}
	return op.fails("Cannot apply token %s to non-container type <class '%s'>", shown(key), className(parent))
}

func isIndex(key string) bool {
	index, err := strconv.Atoi(key)
	return err == nil && index >= 0
}

// className is what Python calls the type of a value that holds no others.
func className(v any) string {
	switch v := v.(type) {
	case bool:
		return "bool"
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return "int"
		}
		return "float"
	}
	return "str"
}

func applyToList(list []any, op patchOp, key string) (out []any, why string) {
	index, err := strconv.Atoi(key)
	if key == "-" {
		index, err = len(list), nil
	}
	switch {
	case err != nil || index < 0:
		return nil, shown(key) + " is not a valid sequence index"
	case op.Op == "add" && index > len(list):
		return nil, "can't insert outside of list"
	case op.Op == "replace" && index >= len(list):
		return nil, "can't replace outside of list"
	case op.Op == "remove" && index >= len(list):
		return nil, "can't remove a non-existent object " + shown(key)
	case op.Op == "add":
		// In place: the document is the patch's own copy, and may be patched often.
		return slices.Insert(list, index, cloneValue(op.Value)), ""
	case op.Op == "remove":
		return slices.Delete(list, index, index+1), ""
	default:
		list[index] = cloneValue(op.Value)
		return list, ""
	}
}

func member(parent any, key string) (any, bool) {
	switch p := parent.(type) {
	case map[string]any:
		v, ok := p[key]
		return v, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(p) {
			return nil, false
		}
		return p[i], true
	}
	return nil, false
}

func setMember(doc map[string]any, path []string, value any) error {
	var parent any = doc
	for _, key := range path[:len(path)-1] {
		parent, _ = member(parent, key)
	}
	last := path[len(path)-1]
	switch p := parent.(type) {
	case map[string]any:
		p[last] = value
	case []any:
		i, err := strconv.Atoi(last)
		if err != nil {
			return badRequest("Couldn't apply patch: not a list index: %q", last)
		}
		p[i] = value
	}
	return nil
}

// cloneValue keeps a patch's value from being shared between two places of the
// document.
func cloneValue(v any) any {
	switch v.(type) {
	case map[string]any, []any:
		var out any
		if err := metal.ToJSON(v).Decode(&out); err == nil {
			return out
		}
	case json.Number:
		return v
	}
	return v
}
