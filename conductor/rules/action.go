package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// actionFormats are the arguments of an action that are filled in outside of a
// loop too.
var actionFormats = map[string][]string{
	"log": {"msg"}, "api-call": {"url"},
	"set-attribute": {"value"}, "extend-attribute": {"value"}, "set-capability": {"value"},
	"set-plugin-data": {"value"}, "extend-plugin-data": {"value"},
	"set-port-attribute": {"value"}, "extend-port-attribute": {"value"},
}

// actions are Ironic's (inspection_rules/actions).
var actions = map[string]func(r *run, args map[string]any) error{
	"fail":                  fail,
	"log":                   log,
	"set-attribute":         setAttribute,
	"extend-attribute":      extendAttribute,
	"del-attribute":         delAttribute,
	"set-capability":        setCapability,
	"unset-capability":      unsetCapability,
	"add-trait":             addTrait,
	"remove-trait":          removeTrait,
	"set-plugin-data":       setPluginData,
	"extend-plugin-data":    extendPluginData,
	"unset-plugin-data":     unsetPluginData,
	"set-port-attribute":    setPortAttribute,
	"extend-port-attribute": extendPortAttribute,
	"del-port-attribute":    delPortAttribute,
	"api-call":              apiCall,
}

func fail(_ *run, args map[string]any) error {
	return &failure{"Failed to inspect hardware. Reason: " + pytext.Str(args["msg"])}
}

func log(r *run, args map[string]any) error {
	level := "info"
	if has(args, "level") {
		level = strings.ToLower(pytext.Str(args["level"]))
	}
	if !slices.Contains([]string{"debug", "info", "warning", "error", "critical"}, level) {
		return executionFailed("Invalid log level: %s. Choose from debug, info, warning, error, critical", level)
	}
	r.note(level, fmt.Sprintf("inspection rule %s says of node %s: %s", r.rule.UUID, r.Node.UUID, pytext.Str(args["msg"])))
	return nil
}

// apiCall is stored by an Ironic that Ferrule took over from; the API takes no
// new one.
func apiCall(*run, map[string]any) error {
	return actionFailed("the action api-call is not built in: Ferrule's control plane calls no address that a rule names")
}

func setAttribute(r *run, args map[string]any) error {
	err := r.changeNode(args["path"], func(object any, path []string) error {
		return set(object, path, args["value"])
	}, func(name string) error { return r.setNode(name, args["value"]) })
	if err != nil {
		return actionFailed("Failed to set attribute %s with value %s: %v", pytext.Str(args["path"]), r.shown(args), err)
	}
	return nil
}

func extendAttribute(r *run, args map[string]any) error {
	err := r.changeNode(args["path"], func(object any, path []string) error {
		return extend(object, path, args["value"], truthy(args["unique"]))
	}, func(name string) error {
		if nodeReads[name] == nil {
			return notToWrite(name)
		}
		return errNoList
	})
	if errors.Is(err, errNoList) {
		err = actionFailed("Cannot extend non-list attribute %s with value %s", pytext.Str(args["path"]), r.shown(args))
	}
	if err != nil {
		return actionFailed("Failed to extend attribute %s: %v", pytext.Str(args["path"]), err)
	}
	return nil
}

func delAttribute(r *run, args map[string]any) error {
	err := r.changeNode(args["path"], remove, func(name string) error {
		if _, ok := nodeInterfaces[name]; ok || nodeFlags[name] != nil {
			return fmt.Errorf("%s always has a value", name)
		}
		return r.setNode(name, nil)
	})
	if err != nil {
		return actionFailed("Failed to delete attribute at %s: %v", pytext.Str(args["path"]), err)
	}
	return nil
}

// shown is the value of an action as errors tell it: not where it is a
// credential or the rule's own secret.
func (r *run) shown(args map[string]any) string {
	path, _ := parts(args["path"])
	if r.rule.Sensitive || slices.ContainsFunc(path, metal.IsDriverInfoSecret) {
		return asterisks
	}
	return pytext.Str(args["value"])
}

// changeNode changes what is inside an attribute, or with a path of one part the
// attribute itself.
func (r *run) changeNode(path any, inside func(object any, path []string) error, whole func(name string) error) error {
	at, err := parts(path)
	if err != nil {
		return err
	}
	name := at[0]
	if len(at) == 1 {
		return whole(name)
	}
	field, ok := nodeObjects[name]
	if !ok {
		read, known := nodeReads[name]
		if !known {
			return fmt.Errorf("'Node' object has no attribute '%s'", name)
		}
		value := read(r.Node)
		if _, ok := value.(map[string]any); ok {
			return notToWrite(name)
		}
		return inside(value, at[1:])
	}
	object := field(r.Node).Object()
	err = inside(object, at[1:])
	*field(r.Node) = metal.ToJSON(object)
	return err
}

func setCapability(r *run, args map[string]any) error {
	name, value := args["name"], args["value"]
	err := r.changeCapabilities(func(have any) (string, error) {
		for i, part := range []any{name, value} {
			if _, ok := part.(string); !ok {
				return "", fmt.Errorf("sequence item %d: expected str instance, %s found", i, typeName(part))
			}
		}
		added := name.(string) + ":" + value.(string)
		if !truthy(have) {
			return added, nil
		}
		text, ok := have.(string)
		if !ok {
			return "", fmt.Errorf("sequence item 0: expected str instance, %s found", typeName(have))
		}
		return text + "," + added, nil
	})
	if err != nil {
		return actionFailed("Failed to set capability %s: %v", pytext.Str(name), err)
	}
	return nil
}

func unsetCapability(r *run, args map[string]any) error {
	name := pytext.Str(args["name"])
	err := r.changeCapabilities(func(have any) (string, error) {
		text, ok := have.(string)
		if !ok {
			return "", fmt.Errorf("'%s' object has no attribute 'split'", typeName(have))
		}
		left := slices.DeleteFunc(strings.Split(text, ","), func(c string) bool { return strings.HasPrefix(c, name+":") })
		return strings.Join(left, ","), nil
	})
	if err != nil {
		return actionFailed("Failed to unset capability %s: %v", name, err)
	}
	return nil
}

func (r *run) changeCapabilities(change func(have any) (string, error)) error {
	properties := r.Node.Properties.Object()
	if !has(properties, "capabilities") {
		properties["capabilities"] = ""
	}
	text, err := change(properties["capabilities"])
	if err == nil {
		r.Node.Properties = r.Node.Properties.With("capabilities", text)
	}
	return err
}

func addTrait(r *run, args map[string]any) error {
	name := pytext.Str(args["name"])
	traits := r.Node.Traits
	switch {
	case slices.Contains(traits, name):
		return nil
	case len(name) > 255:
		return actionFailed("Failed to add new trait %s: it is longer than 255 characters", name)
	case len(traits) >= metal.MostTraits:
		return actionFailed("Failed to add new trait %s: a node can have %d traits", name, metal.MostTraits)
	}
	r.Node.Traits = append(slices.Clone(traits), name)
	slices.Sort(r.Node.Traits)
	return nil
}

func removeTrait(r *run, args map[string]any) error {
	name := pytext.Str(args["name"])
	if !slices.Contains(r.Node.Traits, name) {
		r.note("warning", fmt.Sprintf("inspection rule %s: node %s has no trait %s to remove", r.rule.UUID, r.Node.UUID, name))
	}
	r.Node.Traits = slices.DeleteFunc(slices.Clone(r.Node.Traits), func(t string) bool { return t == name })
	return nil
}
