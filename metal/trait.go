package metal

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// standardTraits are the names of os-traits 3.9.0, one a line.
//
//go:embed traits.txt
var standardTraits string

var (
	customTrait = regexp.MustCompile(`^CUSTOM_[A-Z0-9_]+$`)
	isStandard  = sync.OnceValue(func() map[string]bool {
		names := map[string]bool{}
		for name := range strings.Lines(standardTraits) {
			names[strings.TrimSpace(name)] = true
		}
		return names
	})
)

// MostTraits is how many traits a node may have.
const MostTraits = 50

// IsTrait reports whether s is a trait: one of the standard ones, or CUSTOM_ and
// a word of capitals, digits and underscores, 255 characters at most.
func IsTrait(s string) bool {
	return len(s) <= 255 && (customTrait.MatchString(s) || isStandard()[s])
}
