package metal_test

import (
	"testing"

	"ferrule/metal"
)

func TestJSONKeepsLargeNumbers(t *testing.T) {
	j := metal.JSON(`{"n":12345678901234567890123,"s":"x"}`).With("t", "<&>")
	if j != `{"n":12345678901234567890123,"s":"x","t":"<&>"}` {
		t.Errorf("text: %s", j)
	}
}
