package policy

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// defaultsTSV is Ironic's own policies; a test holds it to an installed Ironic,
// and writes it.
//
//go:embed defaults.tsv
var defaultsTSV string

// Policy is a rule that the product asks for by name.
type Policy struct {
	Name       string
	Check      string
	Scopes     []string // kinds of token that may ask at all; nil: any
	Operations []string // what asks for it: method and path

	// The rule that stood in its place before Ironic knew scopes.
	DeprecatedName, DeprecatedCheck string
}

// own are the policies of Ferrule's own calls, beside Ironic's.
var own = []Policy{
	{
		Name: "ferrule:read", Check: "role:reader and system_scope:all", Scopes: []string{"system"},
		Operations: []string{"GET /ferrule/v1/sites", "GET /ferrule/v1/agents"},
	},
	{
		Name: "ferrule:write", Check: "role:admin and system_scope:all", Scopes: []string{"system"},
		Operations: []string{"POST /ferrule/v1/join-codes", "DELETE /ferrule/v1/agents/{id}"},
	},
}

// Defaults are the built-in policies, in Ironic's order.
func Defaults() []Policy { return append(readDefaults(), own...) }

var readDefaults = sync.OnceValue(func() []Policy {
	var all []Policy
	for line := range strings.Lines(defaultsTSV) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 6 {
			panic(fmt.Sprintf("policy: defaults.tsv: %q has %d fields", line, len(f)))
		}
		all = append(all, Policy{
			Name: f[0], Check: f[1], Scopes: split(f[2]), DeprecatedName: f[3], DeprecatedCheck: f[4], Operations: split(f[5]),
		})
	}
	return all[:len(all):len(all)]
})

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}
