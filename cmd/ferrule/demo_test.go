package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADemoTellsWhyItDoesNotStart(t *testing.T) {
	for said, want := range map[string]string{
		"level=INFO msg=x\nferrule: listen for the API: address already in use\n": "ferrule up did not start: listen for the API: address already in use\n",
		"":   "said nothing",
		"\n": "said nothing",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "up.log"), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := notStarted(dir, "up"); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), filepath.Join(dir, "up.log")) {
			t.Errorf("%q: %v", said, err)
		}
	}
}
