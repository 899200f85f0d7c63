package main

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// ext is the content of an x-openstack extension.
type ext map[string]any

func extension(all map[string]any) ext {
	m, _ := all["x-openstack"].(map[string]any)
	return m
}

func (e ext) text(key string) string { s, _ := e[key].(string); return s }
func (e ext) flag(key string) bool   { v, _ := e[key].(bool); return v }

// list is one text or several.
func (e ext) list(key string) []string {
	switch v := e[key].(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

func (e ext) number(key string) int64 {
	switch v := e[key].(type) {
	case float64:
		return int64(v)
	case int:
		return int64(v)
	case uint64:
		return int64(v)
	}
	return 0
}

// version is the minor of a "1.N" value.
func (e ext) version(key string, fallback int) int {
	if _, given := e[key]; !given {
		return fallback
	}
	return minor(e[key])
}

func minor(word any) int {
	text, _ := word.(string)
	n, err := strconv.Atoi(strings.TrimPrefix(text, "1."))
	if err != nil {
		return 0
	}
	return n
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func keys(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	var out []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		out = append(out, n.Content[i].Value)
	}
	return out
}

// goName turns a field's name into the tail of a Go identifier.
func goName(field string) string {
	var b strings.Builder
	for _, word := range strings.Split(field, "_") {
		switch word {
		case "uuid", "id", "bios", "raid":
			b.WriteString(strings.ToUpper(word))
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
