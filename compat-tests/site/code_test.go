package site_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"
)

// inside is the inner form of a join code.
func inside(t *testing.T, code string) map[string]any {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(code)
	if err != nil {
		t.Fatal(err)
	}
	inner := map[string]any{}
	if err := json.Unmarshal(text, &inner); err != nil {
		t.Fatal(err)
	}
	return inner
}

// altered is a join code with one member of its inner form changed.
func altered(t *testing.T, code, member string, value any) string {
	t.Helper()
	inner := inside(t, code)
	if _, there := inner[member]; !there {
		t.Fatalf("a join code has no member %q", member)
	}
	inner[member] = value
	text, err := json.Marshal(inner)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
