package v1

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ferrule/metal"
)

// attribute is one field of a node that a request may write: how it reads in
// the document that a patch works on, and how a value is checked and stored
// (Ironic: controllers/v1/node.node_schema and NODE_VALIDATE_EXTRA).
type attribute struct {
	get func(n *metal.Node) any
	set func(n *metal.Node, v any) error
}

// nodeAttributes are the writable fields by name.
var nodeAttributes = makeNodeAttributes()

func makeNodeAttributes() map[string]attribute {
	all := map[string]attribute{
		"uuid": {
			get: func(n *metal.Node) any { return n.UUID },
			set: func(n *metal.Node, v any) error {
				s, err := optionalUUID("uuid", v)
				if err == nil && s != nil {
					n.UUID = *s
				}
				return err
			},
		},
		"driver": {
			get: func(n *metal.Node) any { return n.Driver },
			set: func(n *metal.Node, v any) error {
				s, ok := v.(string)
				if !ok {
					return wrongType(v, "string")
				}
				n.Driver = s
				return nil
			},
		},
		"conductor_group": {
			get: func(n *metal.Node) any { return n.ConductorGroup },
			set: setConductorGroup,
		},
		"name":              textAttribute("name", 0, func(n *metal.Node) **string { return &n.Name }),
		"instance_uuid":     uuidAttribute("instance_uuid", func(n *metal.Node) **string { return &n.InstanceUUID }),
		"instance_name":     textAttribute("instance_name", 255, func(n *metal.Node) **string { return &n.InstanceName }),
		"chassis_uuid":      uuidAttribute("chassis_uuid", func(n *metal.Node) **string { return &n.ChassisUUID }),
		"parent_node":       textAttribute("parent_node", 36, func(n *metal.Node) **string { return &n.ParentNode }),
		"resource_class":    textAttribute("resource_class", 80, func(n *metal.Node) **string { return &n.ResourceClass }),
		"owner":             textAttribute("owner", 0, func(n *metal.Node) **string { return &n.Owner }),
		"lessee":            textAttribute("lessee", 0, func(n *metal.Node) **string { return &n.Lessee }),
		"shard":             textAttribute("shard", 0, func(n *metal.Node) **string { return &n.Shard }),
		"description":       textAttribute("description", 4096, func(n *metal.Node) **string { return &n.Description }),
		"protected_reason":  textAttribute("protected_reason", 0, func(n *metal.Node) **string { return &n.ProtectedReason }),
		"retired_reason":    textAttribute("retired_reason", 0, func(n *metal.Node) **string { return &n.RetiredReason }),
		"boot_mode":         textAttribute("boot_mode", 16, func(n *metal.Node) **string { return &n.BootMode }),
		"automated_clean":   optionalFlagAttribute("automated_clean", func(n *metal.Node) **bool { return &n.AutomatedClean }),
		"secure_boot":       optionalFlagAttribute("secure_boot", func(n *metal.Node) **bool { return &n.SecureBoot }),
		"maintenance":       flagAttribute("maintenance", func(n *metal.Node) *bool { return &n.Maintenance }),
		"protected":         flagAttribute("protected", func(n *metal.Node) *bool { return &n.Protected }),
		"retired":           flagAttribute("retired", func(n *metal.Node) *bool { return &n.Retired }),
		"console_enabled":   flagAttribute("console_enabled", func(n *metal.Node) *bool { return &n.ConsoleEnabled }),
		"disable_power_off": flagAttribute("disable_power_off", func(n *metal.Node) *bool { return &n.DisablePowerOff }),
		"driver_info":       objectAttribute("driver_info", func(n *metal.Node) *metal.JSON { return &n.DriverInfo }),
		"properties":        objectAttribute("properties", func(n *metal.Node) *metal.JSON { return &n.Properties }),
		"extra":             objectAttribute("extra", func(n *metal.Node) *metal.JSON { return &n.Extra }),
		"instance_info":     objectAttribute("instance_info", func(n *metal.Node) *metal.JSON { return &n.InstanceInfo }),
		"network_data":      objectAttribute("network_data", func(n *metal.Node) *metal.JSON { return &n.NetworkData }),
	}
	for _, t := range metal.InterfaceTypes() {
		all[string(t)+"_interface"] = interfaceAttribute(t)
	}
	return all
}

func optionalText(limit int, v any) (*string, error) {
	if v == nil {
		return nil, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, wrongType(v, "string", "null")
	}
	if limit > 0 && utf8.RuneCountInString(s) > limit {
		return nil, tooLong(s)
	}
	return &s, nil
}

func optionalUUID(name string, v any) (*string, error) {
	s, err := optionalText(0, v)
	if err != nil || s == nil {
		return nil, err
	}
	if !isUUIDLike(*s) {
		return nil, badRequest("Expected UUID for %s: %s", name, *s)
	}
	return s, nil
}

// optionalBool takes a boolean or one of the strings that mean one.
func optionalBool(name string, v any) (*bool, error) {
	switch t := v.(type) {
	case nil:
		return nil, nil
	case bool:
		return &t, nil
	case string:
		if b, ok := parseBool(t); ok {
			return &b, nil
		}
		return nil, noBoolean(name, t)
	}
	return nil, wrongType(v, "string", "boolean", "null")
}

func textAttribute(name string, limit int, field func(n *metal.Node) **string) attribute {
	return attribute{
		get: func(n *metal.Node) any { return textOrNil(*field(n)) },
		set: func(n *metal.Node, v any) error {
			s, err := optionalText(limit, v)
			if err != nil {
				return err
			}
			if name == "instance_name" && s != nil && *s == "" {
				return empty(*s)
			}
			*field(n) = s
			return nil
		},
	}
}

func uuidAttribute(name string, field func(n *metal.Node) **string) attribute {
	return attribute{
		get: func(n *metal.Node) any { return textOrNil(*field(n)) },
		set: func(n *metal.Node, v any) (err error) {
			s, err := optionalUUID(name, v)
			if err == nil {
				*field(n) = s
			}
			return err
		},
	}
}

func optionalFlagAttribute(name string, field func(n *metal.Node) **bool) attribute {
	return attribute{
		get: func(n *metal.Node) any {
			if p := *field(n); p != nil {
				return *p
			}
			return nil
		},
		set: func(n *metal.Node, v any) error {
			b, err := optionalBool(name, v)
			if err == nil {
				*field(n) = b
			}
			return err
		},
	}
}

// flagAttribute is a boolean that is never null: null and removal mean false.
func flagAttribute(name string, field func(n *metal.Node) *bool) attribute {
	return attribute{
		get: func(n *metal.Node) any { return *field(n) },
		set: func(n *metal.Node, v any) error {
			b, err := optionalBool(name, v)
			if err == nil {
				*field(n) = b != nil && *b
			}
			return err
		},
	}
}

func objectAttribute(name string, field func(n *metal.Node) *metal.JSON) attribute {
	return attribute{
		get: func(n *metal.Node) any { return field(n).Object() },
		set: func(n *metal.Node, v any) error {
			switch t := v.(type) {
			case nil:
				*field(n) = metal.EmptyObject
			case map[string]any:
				*field(n) = metal.ToJSON(t)
			default:
				if holdsSecrets[name] {
					v = metal.Masked // it may be one of those that belong inside
				}
				return wrongType(v, "object", "null")
			}
			return nil
		},
	}
}

// holdsSecrets are the objects that clients keep credentials in.
var holdsSecrets = map[string]bool{"driver_info": true, "instance_info": true}

// interfaceAttribute leaves an interface unset on null: the default is chosen
// when the node's interfaces are resolved.
func interfaceAttribute(t metal.InterfaceType) attribute {
	return attribute{
		get: func(n *metal.Node) any { return n.Interface(t) },
		set: func(n *metal.Node, v any) error {
			s, err := optionalText(255, v)
			if err != nil {
				return err
			}
			*n.InterfaceField(t) = ""
			if s != nil {
				if *s == "" {
					return badRequest("Could not find the %s interface with the empty name.", t)
				}
				*n.InterfaceField(t) = *s
			}
			return nil
		},
	}
}

// setConductorGroup stores the group in lower case; null means no group.
func setConductorGroup(n *metal.Node, v any) error {
	s, err := optionalText(255, v)
	if err != nil {
		return err
	}
	n.ConductorGroup = ""
	if s == nil {
		return nil
	}
	n.ConductorGroup = strings.ToLower(*s)
	return nil
}

// checkConductorGroup refuses a group that can be none, once the version may set
// one.
func checkConductorGroup(v any) error {
	group, _ := v.(string)
	for _, r := range group {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r)) {
			return badRequest("Invalid conductor group: it may hold letters, digits, '_', '-' and '.' only.")
		}
	}
	return nil
}

func textOrNil(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// nodeDocument is the node as the document that a patch works on.
func nodeDocument(n *metal.Node, names []string) map[string]any {
	doc := make(map[string]any, len(names))
	for _, name := range names {
		doc[name] = nodeAttributes[name].get(n)
	}
	return doc
}

// setAttribute checks one value and stores it.
func setAttribute(n *metal.Node, name string, v any) error {
	a, ok := nodeAttributes[name]
	if !ok {
		return fmt.Errorf("no attribute %q", name)
	}
	return a.set(n, v)
}
