package oracle

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
)

const lineWidth = 110

// printJSON writes a value for people: what fits a line stays on one.
func printJSON(v any) string {
	var b strings.Builder
	writeJSON(&b, v, "")
	return b.String()
}

func writeJSON(b *strings.Builder, v any, indent string) {
	if one := compactJSON(v); len(indent)+len(one) <= lineWidth || !nested(v) {
		b.WriteString(one)
		return
	}
	deeper := indent + "  "
	switch v := v.(type) {
	case map[string]any:
		b.WriteString("{\n")
		for i, k := range sortedKeys(v) {
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString(deeper + compactJSON(k) + ": ")
			writeJSON(b, v[k], deeper)
		}
		b.WriteString("\n" + indent + "}")
	case []any:
		b.WriteString("[\n")
		for i, item := range v {
			if i > 0 {
				b.WriteString(",\n")
			}
			b.WriteString(deeper)
			writeJSON(b, item, deeper)
		}
		b.WriteString("\n" + indent + "]")
	}
}

func nested(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// compactJSON is JSON on one line with blanks after separators.
func compactJSON(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, k := range sortedKeys(v) {
			parts = append(parts, compactJSON(k)+": "+compactJSON(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, 0, len(v))
		for _, item := range v {
			parts = append(parts, compactJSON(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
