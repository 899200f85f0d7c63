package metal

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func storable(v any) bool {
	switch v := v.(type) {
	case string:
		return utf8.ValidString(v) && !strings.Contains(v, "\x00")
	case []any:
		for _, item := range v {
			if !storable(item) {
				return false
			}
		}
	case map[string]any:
		for key, item := range v {
			if !storable(key) || !storable(item) {
				return false
			}
		}
	}
	return true
}

func TestStorableJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"1\u00000"}`:   "{\"a\":\"1\uFFFD0\"}",
		`{"\u0000":[]}`:      "{\"\uFFFD\":[]}",
		`"a\\u0000b"`:        `"a\\u0000b"`, // a backslash and five letters
		`"a\\\u0000"`:        "\"a\\\\\uFFFD\"",
		"\"\xff\"":           "\"\uFFFD\"",
		`"\ud800\"\u0001é"`:  `"\ud800\"\u0001é"`,
		`{"a":1,"b":[true]}`: `{"a":1,"b":[true]}`,
		``:                   ``,
	} {
		if got := string(StorableJSON([]byte(text))); got != want {
			t.Errorf("%s gives %s, want %s", text, got, want)
		}
	}
	if got := StorableText("a\x00\xffb"); got != "a\uFFFD\uFFFDb" {
		t.Errorf("got %q", got)
	}
}

// Whatever JSON comes in, JSON of the same shape comes out, all of it storable;
// and what was storable is not touched.
func FuzzStorableJSON(f *testing.F) {
	for _, text := range []string{`{"a\u0000":["\\u0000","\\\u0000","\ud800"]}`, "\"\xff\"", `"\`, `\u0000`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		clean := StorableJSON(text)
		var before, after any
		if json.Unmarshal(text, &before) != nil {
			return
		}
		if err := json.Unmarshal(clean, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, clean, err)
		}
		if !utf8.Valid(clean) || !storable(after) {
			t.Errorf("%q became %q", text, clean)
		}
		if storable(before) && utf8.Valid(text) && !reflect.DeepEqual(before, after) {
			t.Errorf("%q became %q", text, clean)
		}
	})
}
