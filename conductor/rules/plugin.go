package rules

import (
	"errors"
	"fmt"

	"ferrule/metal/pytext"
)

func setPluginData(r *run, args map[string]any) error {
	path, err := keys(args["path"])
	if err == nil {
		err = set(r.PluginData, path, args["value"])
	}
	if err != nil {
		return actionFailed("Failed to set plugin data at %s: %v", pytext.Str(args["path"]), err)
	}
	return nil
}

func extendPluginData(r *run, args map[string]any) error {
	path, err := keys(args["path"])
	if err == nil {
		if have := at(r.PluginData, path); !truthy(have) {
			err = set(r.PluginData, path, []any{}) // whatever is empty becomes a list
		}
	}
	if err == nil {
		err = extend(r.PluginData, path, args["value"], truthy(args["unique"]))
	}
	if errors.Is(err, errNoList) {
		err = noAppend(at(r.PluginData, path), args)
	}
	if err != nil {
		return actionFailed("Failed to extend plugin data at %s: %v", pytext.Str(args["path"]), err)
	}
	return nil
}

// noAppend is what becomes of extending what is no list: nothing, where the value
// is in it already.
func noAppend(have any, args map[string]any) error {
	if truthy(args["unique"]) {
		if in, err := within(args["value"], have); in || err != nil {
			return err
		}
	}
	return fmt.Errorf("'%s' object has no attribute 'append'", typeName(have))
}

// at is what stands at the end of a path; nothing where it leads nowhere.
func at(value any, path []string) any {
	for _, key := range path {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[key]
	}
	return value
}

// unsetPluginData takes a value away, and the object that held it where it was
// the only one.
func unsetPluginData(r *run, args map[string]any) error {
	path, err := keys(args["path"])
	if err != nil {
		return actionFailed("Failed to unset plugin data at %s: %v", pytext.Str(args["path"]), err)
	}
	if remove(r.PluginData, path) != nil {
		r.note("warning", fmt.Sprintf("inspection rule %s: the plugin data of node %s has no %s", r.rule.UUID, r.Node.UUID, pytext.Str(args["path"])))
		return nil
	}
	if holder := path[:len(path)-1]; len(holder) > 0 && !truthy(at(r.PluginData, holder)) {
		return remove(r.PluginData, holder)
	}
	return nil
}
