package v1

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ferrule/metal"
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

// parsePatch reads a patch and checks what Ironic's schema checks.
func parsePatch(raw []byte, version openapi.Version) ([]patchOp, error) {
	if version >= 98 {
		return parseOps(raw, escapedPath)
	}
	return parseOps(raw, patchPath)
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
		return nil, badRequest("Schema error for patch: the body is not an array of operations.")
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
		return patchOp{}, badRequest("Schema error for patch: an operation is not an object.")
	}
	for k := range m {
		if k != "op" && k != "path" && k != "value" {
			return patchOp{}, badRequest("Schema error for patch: unexpected key %q in an operation.", k)
		}
	}
	op, _ := m["op"].(string)
	if op != "add" && op != "replace" && op != "remove" {
		return patchOp{}, badRequest("Schema error for patch: op must be one of add, replace, remove.")
	}
	path, ok := m["path"].(string)
	if !ok || !pattern.MatchString(path) {
		return patchOp{}, badRequest("Schema error for patch: path %q is not valid.", path)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	value, has := m["value"]
	if op != "remove" && !has {
		return patchOp{}, badRequest("Couldn't apply patch: the operation %s %s has no value.", op, path)
	}
	return patchOp{Op: op, Path: path, Root: segments[0], Sub: segments[1:], Value: value, HasValue: has}, nil
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
	fail := func(why string) error {
		return badRequest("Couldn't apply patch %s %s. Reason: %s", op.Op, op.Path, why)
	}
	var parent any = doc
	keys := append([]string{op.Root}, op.Sub...)
	for _, key := range keys[:len(keys)-1] {
		next, ok := member(parent, key)
		if !ok {
			return fail("member " + strconv.Quote(key) + " not found")
		}
		parent = next
	}
	last := keys[len(keys)-1]
	switch p := parent.(type) {
	case map[string]any:
		if _, exists := p[last]; !exists && op.Op != "add" {
			return fail("can't " + op.Op + " a non-existent object " + strconv.Quote(last))
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
			return fail(why)
		}
		return setMember(doc, keys[:len(keys)-1], list)
	}
	return fail("the parent is neither an object nor a list")
}

func applyToList(list []any, op patchOp, key string) (out []any, why string) {
	index, err := strconv.Atoi(key)
	if key == "-" {
		index, err = len(list), nil
	}
	switch {
	case err != nil || index < 0:
		return nil, "not a list index: " + strconv.Quote(key)
	case op.Op == "add" && index > len(list), op.Op != "add" && index >= len(list):
		return nil, "list index out of range"
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
