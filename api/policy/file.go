package policy

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// fileRule is one rule of a file. Its complaint is what an operator should
// know of it, though it has a meaning.
type fileRule struct {
	name      string
	line      int
	check     check
	complaint error
}

// parseFile reads a file of rules, YAML or JSON. A rule that is given twice
// counts as it is given last.
func parseFile(raw []byte) ([]fileRule, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	top := document.Content[0]
	if top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: the file must be a list of rules, each written name: rule", top.Line)
	}
	var rules []fileRule
	var mistakes []error
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		rule := fileRule{name: name.Value, line: name.Line}
		var err error
		switch rule.check, err = parseNode(value); {
		case errors.Is(err, errRemote), errors.Is(err, errForm):
			mistakes = append(mistakes, fmt.Errorf("line %d: %s: %w", name.Line, name.Value, err))
		default:
			rule.complaint = err
		}
		rules = append(rules, rule)
	}
	return rules, errors.Join(mistakes...)
}

var (
	errForm  = errors.New("a rule is a text, or a list of lists of texts")
	errEmpty = errors.New("an empty rule allows everybody; write \"@\" if that is meant")
)

func parseNode(n *yaml.Node) (check, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.SequenceNode:
		items, err := lists(n)
		if err != nil {
			return never{}, err
		}
		return parseList(items)
	case yaml.ScalarNode:
		switch {
		case n.Tag == "!" && n.Value == "":
			// To YAML this is nothing at all, and nothing allows everybody.
			return never{}, fmt.Errorf("%w: put the exclamation mark in quotes", errForm)
		case n.ShortTag() == "!!null":
			return always{}, errEmpty
		case n.ShortTag() == "!!str":
			return parseText(n.Value)
		}
	}
	return never{}, errForm
}

func lists(n *yaml.Node) ([][]string, error) {
	var items [][]string
	for _, item := range n.Content {
		switch {
		case item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str" && item.Value != "":
			items = append(items, []string{item.Value})
		case item.Kind == yaml.ScalarNode && item.ShortTag() == "!!str", item.ShortTag() == "!!null":
			items = append(items, nil)
		case item.Kind == yaml.SequenceNode:
			var all []string
			for _, word := range item.Content {
				if word.Kind != yaml.ScalarNode || word.ShortTag() != "!!str" {
					return nil, errForm
				}
				all = append(all, word.Value)
			}
			items = append(items, all)
		default:
			return nil, errForm
		}
	}
	return items, nil
}
