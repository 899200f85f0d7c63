package v1

import (
	"testing"

	"ferrule/metal"
	"ferrule/openapi"
)

// The description names the verbs of the state machine, each from the version on
// at which it is taken.
func TestVerbsAreDescribed(t *testing.T) {
	t.Parallel()
	var described map[string]openapi.Version
	for _, op := range openapi.Operations {
		if op.ID == "setProvision" {
			described = op.Arg("target").Since
		}
	}
	known := map[string]openapi.Version{}
	for _, v := range metal.Verbs() {
		known[string(v.Verb)] = openapi.Version(v.MinMinor)
		if v.Alias != "" {
			known[v.Alias] = max(openapi.Version(v.AliasSince), openapi.MinVersion)
		}
	}
	for word, since := range known {
		if got := max(described[word], openapi.MinVersion); got != since {
			t.Errorf("%s is described from %s on, and taken from %s", word, got, since)
		}
	}
	for word := range described {
		if known[word] == 0 {
			t.Errorf("%s is described, and no verb", word)
		}
	}
}
