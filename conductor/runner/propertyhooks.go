package runner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ferrule/metal/pytext"
)

// The inspection hooks that are not on by default, and set a property each.

// unexpected is an error that Ironic tells with its class.
type unexpected struct{ class, text string }

func (e unexpected) Error() string { return e.text }

func memory(i *inspection) error {
	found, _ := i.inventory["memory"].(map[string]any)
	mb, ok := found["physical_mb"]
	if !ok {
		return invalidInventory(fmt.Sprintf("Inventory has missing memory information: %s for node %s.", pytext.Str(i.inventory["memory"]), i.node.UUID))
	}
	i.node.Properties = i.node.Properties.With("memory_mb", mb)
	return nil
}

// cpus notes how many there are, where that is told.
func cpus(i *inspection) error {
	cpu, _ := i.inventory["cpu"].(map[string]any)
	count, ok := cpu["count"].(json.Number)
	if !ok {
		return nil
	}
	n, err := count.Int64()
	if err == nil && n != 0 {
		i.node.Properties = i.node.Properties.With("cpus", n)
	}
	return nil
}

func bootMode(i *inspection) error {
	boot, _ := i.inventory["boot"].(map[string]any)
	mode, ok := boot["current_boot_mode"]
	if !ok || mode == nil {
		return nil
	}
	return i.setCapabilities(capability{"boot_mode", pytext.Str(mode)})
}

// usualFlags are those of Ironic's default, in its order; capabilities keep the
// order in which they are set.
var usualFlags = []string{"vmx", "svm", "aes", "pse", "pdpe1gb", "smx"}

func cpuCapabilities(i *inspection) error {
	cpu, _ := i.inventory["cpu"].(map[string]any)
	flags, _ := cpu["flags"].([]any)
	var found []capability
	names := slices.Concat(usualFlags, slices.Sorted(maps.Keys(i.Settings.CPUCapabilities)))
	for n, flag := range names {
		name, ok := i.Settings.CPUCapabilities[flag]
		if ok && slices.Index(names, flag) == n && slices.Contains(flags, any(flag)) {
			found = append(found, capability{name, "true"})
		}
	}
	if len(flags) == 0 {
		return nil
	}
	return i.setCapabilities(found...)
}

// capability is one of the pairs in properties/capabilities.
type capability struct{ name, value string }

// setCapabilities changes what is there and adds the rest (Ironic:
// common/utils.get_updated_capabilities).
func (i *inspection) setCapabilities(set ...capability) error {
	old, _ := i.node.Properties.Lookup("capabilities").(string)
	var all []capability
	if old != "" {
		for pair := range strings.SplitSeq(old, ",") {
			name, value, ok := strings.Cut(pair, ":")
			if !ok {
				return unexpected{"ValueError", fmt.Sprintf("Invalid capabilities string '%s'.", old)}
			}
			all = put(all, capability{name, value})
		}
	}
	for _, c := range set {
		all = put(all, c)
	}
	texts := make([]string, len(all))
	for n, c := range all {
		texts[n] = c.name + ":" + c.value
	}
	i.node.Properties = i.node.Properties.With("capabilities", strings.Join(texts, ","))
	return nil
}

func put(list []capability, c capability) []capability {
	for n := range list {
		if list[n].name == c.name {
			list[n].value = c.value
			return list
		}
	}
	return append(list, c)
}
