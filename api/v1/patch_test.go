package v1

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
	"ferrule/openapi"
)

func TestPatch(t *testing.T) {
	const before = `{"name":"n1","extra":{"a":{"b":1},"list":[1,2,3]},"properties":{}}`
	cases := []struct {
		name, patch, want string // want "" is 400
	}{
		{"nothing", `[]`, before},
		{"add below", `[{"op":"add","path":"/extra/x","value":"y"}]`, `{"name":"n1","extra":{"a":{"b":1},"list":[1,2,3],"x":"y"},"properties":{}}`},
		{"replace root", `[{"op":"replace","path":"/extra","value":{}}]`, `{"name":"n1","extra":{},"properties":{}}`},
		{"remove root", `[{"op":"remove","path":"/name"}]`, `{"name":null,"extra":{"a":{"b":1},"list":[1,2,3]},"properties":{}}`},
		{"escapes", `[{"op":"add","path":"/extra/a~1b","value":1},{"op":"add","path":"/extra/c~0d","value":2},{"op":"remove","path":"/extra/list"},{"op":"remove","path":"/extra/a"}]`, `{"name":"n1","extra":{"a/b":1,"c~d":2},"properties":{}}`},
		{"append", `[{"op":"add","path":"/extra/list/-","value":4}]`, `{"name":"n1","extra":{"a":{"b":1},"list":[1,2,3,4]},"properties":{}}`},
		{"insert", `[{"op":"add","path":"/extra/list/1","value":9}]`, `{"name":"n1","extra":{"a":{"b":1},"list":[1,9,2,3]},"properties":{}}`},
		{"remove item", `[{"op":"remove","path":"/extra/list/0"}]`, `{"name":"n1","extra":{"a":{"b":1},"list":[2,3]},"properties":{}}`},
		{"large number", `[{"op":"add","path":"/extra/n","value":12345678901234567890}]`, `{"name":"n1","extra":{"a":{"b":1},"list":[1,2,3],"n":12345678901234567890},"properties":{}}`},
		{"past the end", `[{"op":"add","path":"/extra/list/4","value":4}]`, ""},
		{"replace missing", `[{"op":"replace","path":"/extra/zz","value":4}]`, ""},
		{"remove missing", `[{"op":"remove","path":"/extra/zz"}]`, ""},
		{"below text", `[{"op":"add","path":"/name/x","value":4}]`, ""},
		{"one fails, none applies", `[{"op":"add","path":"/extra/x","value":1},{"op":"remove","path":"/extra/zz"}]`, ""},
		{"no value", `[{"op":"add","path":"/extra/x"}]`, ""},
		{"other op", `[{"op":"test","path":"/extra","value":{}}]`, ""},
		{"move", `[{"op":"move","path":"/extra/x","from":"/extra/a"}]`, ""},
		{"unknown root", `[{"op":"add","path":"/nosuch","value":1}]`, ""},
		{"read-only root", `[{"op":"replace","path":"/uuid","value":"x"}]`, ""},
		{"empty path", `[{"op":"add","path":"","value":1}]`, ""},
		{"slash path", `[{"op":"add","path":"/","value":1}]`, ""},
		{"dotted path", `[{"op":"add","path":"/extra/a.b","value":1}]`, ""},
		{"extra key", `[{"op":"add","path":"/extra/x","value":1,"why":2}]`, ""},
		{"no list", `{"op":"add"}`, ""},
		{"item no object", `[1]`, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc := metal.JSON(before).Object()
			ops, err := parsePatch([]byte(c.patch), openapi.MaxVersion)
			if err == nil {
				err = checkRoots(ops, openapi.NodeFields)
			}
			if err == nil {
				err = applyPatch(doc, ops)
			}
			if c.want == "" {
				if err == nil || asFault(err).Status != http.StatusBadRequest {
					t.Fatalf("got %v, want a 400", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(metal.JSON(c.want).Object(), doc); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzPatch(f *testing.F) {
	f.Add(`[{"op":"add","path":"/extra/list/-","value":4}]`)
	f.Add(`[{"op":"remove","path":"/extra/a~1b"}]`)
	f.Fuzz(func(t *testing.T, patch string) {
		doc := map[string]any{"extra": map[string]any{"list": []any{json.Number("1"), map[string]any{}}}, "name": nil}
		ops, err := parsePatch([]byte(patch), openapi.MaxVersion)
		if err == nil {
			err = applyPatch(doc, ops)
		}
		if err != nil && asFault(err).Status != http.StatusBadRequest {
			t.Errorf("%q: %v", patch, err)
		}
	})
}
