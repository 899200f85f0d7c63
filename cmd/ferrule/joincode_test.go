package main

import (
	"strings"
	"testing"

	"ferrule/config"
	"ferrule/metal"
)

// A code that names a listener which is not there would be handed to a site
// and found useless there.
func TestAnAPIWithoutAListenerSaysWhatItsJoinCodesLack(t *testing.T) {
	_, _, err := admission{&plane{cfg: &config.Config{}}}.NewJoinCode(t.Context(), "lisbon", 0)
	if metal.ReasonOf(err) != metal.Unavailable || !strings.Contains(err.Error(), "[link] public_address") {
		t.Errorf("a join code: %v", err)
	}
}
