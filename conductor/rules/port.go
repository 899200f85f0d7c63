package rules

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// What a rule may write of a port.
var (
	portTexts = map[string]func(p *metal.Port) **string{
		"name":             func(p *metal.Port) **string { return &p.Name },
		"description":      func(p *metal.Port) **string { return &p.Description },
		"vendor":           func(p *metal.Port) **string { return &p.Vendor },
		"category":         func(p *metal.Port) **string { return &p.Category },
		"physical_network": func(p *metal.Port) **string { return &p.PhysicalNetwork },
	}
	portFlags = map[string]func(p *metal.Port) *bool{
		"pxe_enabled":                     func(p *metal.Port) *bool { return &p.PXEEnabled },
		"is_smartnic":                     func(p *metal.Port) *bool { return &p.IsSmartNIC },
		"available_for_dynamic_portgroup": func(p *metal.Port) *bool { return &p.AvailableForDynamicPortgroup },
	}
	portObjects = map[string]func(p *metal.Port) *metal.JSON{
		"extra":                 func(p *metal.Port) *metal.JSON { return &p.Extra },
		"local_link_connection": func(p *metal.Port) *metal.JSON { return &p.LocalLinkConnection },
	}
)

// port is the node's port that an action names.
func (r *run) port(args map[string]any) (*metal.Port, error) {
	id := pytext.Str(args["port_id"])
	i := slices.IndexFunc(r.Ports, func(p *metal.Port) bool { return p.UUID == id })
	if i < 0 {
		return nil, &failure{fmt.Sprintf("Port %s could not be found.", id)}
	}
	r.Changed[id] = true
	return r.Ports[i], nil
}

func setPortAttribute(r *run, args map[string]any) error {
	p, err := r.port(args)
	if err != nil {
		return err
	}
	err = changePort(p, args["path"], func(object any, path []string) error {
		return set(object, path, args["value"])
	}, func(name string) error { return r.setPort(p, name, args["value"]) })
	if err != nil {
		return actionFailed("Failed to set attribute %s for port %s: %v", pytext.Str(args["path"]), p.UUID, err)
	}
	return nil
}

func extendPortAttribute(r *run, args map[string]any) error {
	p, err := r.port(args)
	if err != nil {
		return err
	}
	err = changePort(p, args["path"], func(object any, path []string) error {
		return extend(object, path, args["value"], truthy(args["unique"]))
	}, func(string) error { return errNoList })
	if errors.Is(err, errNoList) {
		err = actionFailed("Cannot extend non-list attribute %s with  value %s", pytext.Str(args["path"]), r.shown(args))
	}
	if err != nil {
		return actionFailed("Failed to extend attribute %s for port %s: %v", pytext.Str(args["path"]), p.UUID, err)
	}
	return nil
}

func delPortAttribute(r *run, args map[string]any) error {
	p, err := r.port(args)
	if err != nil {
		return err
	}
	err = changePort(p, args["path"], remove, func(name string) error {
		if name == "address" || portFlags[name] != nil {
			return fmt.Errorf("%s always has a value", name)
		}
		return r.setPort(p, name, nil)
	})
	if err != nil {
		return actionFailed("Failed to delete attribute %s for port %s: %v", pytext.Str(args["path"]), p.UUID, err)
	}
	return nil
}

func changePort(p *metal.Port, path any, inside func(object any, path []string) error, whole func(name string) error) error {
	at, err := parts(path)
	if err != nil {
		return err
	}
	if len(at) == 1 {
		return whole(at[0])
	}
	field, ok := portObjects[at[0]]
	if !ok {
		return notToWrite(at[0])
	}
	object := field(p).Object()
	err = inside(object, at[1:])
	*field(p) = metal.ToJSON(object)
	return err
}

// setPort sets an attribute as a whole.
func (r *run) setPort(p *metal.Port, name string, value any) error {
	if at, ok := portTexts[name]; ok {
		text, err := textFor(name, value, 0)
		if err == nil && name == "name" && text != nil && r.Taken("port name", *text) {
			err = fmt.Errorf("A port with name %s already exists.", *text)
		}
		if err == nil {
			*at(p) = text
		}
		return err
	}
	if at, ok := portFlags[name]; ok {
		*at(p) = truthy(value)
		return nil
	}
	if at, ok := portObjects[name]; ok {
		object, err := objectFor(name, value)
		if err == nil {
			*at(p) = metal.ToJSON(object)
		}
		return err
	}
	if name != "address" {
		return notToWrite(name)
	}
	text := strings.ToLower(pytext.Str(value))
	if mac, err := net.ParseMAC(text); err != nil || len(mac) != 6 || len(text) != 17 || strings.Contains(text, "-") {
		return fmt.Errorf("Expected a MAC address but received %s.", pytext.Str(value))
	}
	if text != p.Address && r.Taken("port address", text) {
		return fmt.Errorf("A port with MAC address %s already exists.", text)
	}
	p.Address = text
	return nil
}
