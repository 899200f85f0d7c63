package metal

import "strings"

// WithCapability is a list of capabilities ("key:value,key:value") with one set.
func WithCapability(list, key, value string) string {
	var kept []string
	for _, item := range strings.Split(list, ",") {
		if name, _, _ := strings.Cut(item, ":"); item != "" && strings.TrimSpace(name) != key {
			kept = append(kept, item)
		}
	}
	return strings.Join(append(kept, key+":"+value), ",")
}
