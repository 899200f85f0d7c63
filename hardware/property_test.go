package hardware

import (
	"testing"

	"ferrule/metal"
)

// TestSecretPropertiesAreSealed: a property is secret if and only if driver_info
// keeps its value sealed.
func TestSecretPropertiesAreSealed(t *testing.T) {
	for _, row := range sortedRows() {
		for _, p := range row.Properties {
			if p.Secret != metal.IsDriverInfoSecret(p.Key) {
				t.Errorf("%s %s: secret is %v for %s, and its value is sealed: %v", row.Type, row.Name, p.Secret, p.Key, !p.Secret)
			}
		}
	}
}
