package v1

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// checkSizes refuses sizes that no machine has (Ironic:
// Node._validate_property_values). What is null is not given.
func checkSizes(n *metal.Node) error {
	properties := n.Properties.Object()
	var wrong []string
	for _, name := range []string{"local_gb", "memory_mb"} {
		if v := properties[name]; v != nil && !isSize(v) {
			wrong = append(wrong, name+"="+pytext.Str(v))
		}
	}
	if wrong == nil {
		return nil
	}
	return badRequest("The following properties for node %s should be non-negative integers, but provided values are: %s",
		n.UUID, strings.Join(wrong, ", "))
}

// sizeText is what Python's int() takes of a text, without a minus.
var sizeText = regexp.MustCompile(`^\s*(\+?\d(_?\d)*|-0(_?0)*)\s*$`)

// isSize says whether Python's int() makes of v a number of 0 and more.
func isSize(v any) bool {
	switch v := v.(type) {
	case string:
		return sizeText.MatchString(v)
	case bool:
		return true
	case json.Number:
		f, err := v.Float64()
		return err == nil && math.Trunc(f) >= 0
	}
	return false
}
