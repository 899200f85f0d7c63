package v1

import (
	"regexp"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
)

// portAttributes are the writable fields of a port, by name (Ironic:
// controllers/v1/port.PORT_SCHEMA and PORT_VALIDATOR_EXTRA).
type portAttribute struct {
	get func(p *metal.Port) any
	set func(p *metal.Port, v any) error
}

var portAttributes = map[string]portAttribute{
	"address": {
		get: func(p *metal.Port) any { return p.Address },
		set: func(p *metal.Port, v any) error {
			text, ok := v.(string)
			if !ok {
				return wrongType(v, "string")
			}
			mac, ok := normalMAC(text)
			if !ok {
				return badRequest("Expected valid MAC address for address: %s", text)
			}
			p.Address = mac
			return nil
		},
	},
	"node_uuid": {
		get: func(p *metal.Port) any { return p.NodeUUID },
		set: func(p *metal.Port, v any) error {
			text, ok := v.(string)
			if !ok {
				return wrongType(v, "string")
			}
			if !isUUIDLike(text) {
				return badRequest("Expected UUID for node_uuid: %s", text)
			}
			p.NodeUUID = text
			return nil
		},
	},
	"uuid": {
		get: func(p *metal.Port) any { return p.UUID },
		set: func(p *metal.Port, v any) error {
			text, err := optionalUUID("uuid", v)
			if err == nil && text != nil {
				p.UUID = *text
			}
			return err
		},
	},
	"portgroup_uuid": {
		get: func(p *metal.Port) any { return textOrNil(p.PortgroupUUID) },
		set: func(p *metal.Port, v any) (err error) {
			p.PortgroupUUID, err = optionalUUID("portgroup_uuid", v)
			return err
		},
	},
	"name":             portText(0, func(p *metal.Port) **string { return &p.Name }),
	"description":      portText(255, func(p *metal.Port) **string { return &p.Description }),
	"vendor":           portText(32, func(p *metal.Port) **string { return &p.Vendor }),
	"category":         portText(80, func(p *metal.Port) **string { return &p.Category }),
	"physical_network": portText(64, func(p *metal.Port) **string { return &p.PhysicalNetwork }),
	"pxe_enabled":      portFlag("pxe_enabled", true, func(p *metal.Port) *bool { return &p.PXEEnabled }),
	"is_smartnic":      portFlag("is_smartnic", false, func(p *metal.Port) *bool { return &p.IsSmartNIC }),
	"available_for_dynamic_portgroup": {
		get: func(p *metal.Port) any { return p.AvailableForDynamicPortgroup },
		set: func(p *metal.Port, v any) error {
			b, ok := v.(bool)
			if !ok {
				return wrongType(v, "boolean")
			}
			p.AvailableForDynamicPortgroup = b
			return nil
		},
	},
	"extra": {
		get: func(p *metal.Port) any { return p.Extra.Object() },
		set: func(p *metal.Port, v any) (err error) { p.Extra, err = optionalObject(v); return err },
	},
	"local_link_connection": {
		get: func(p *metal.Port) any { return p.LocalLinkConnection.Object() },
		set: func(p *metal.Port, v any) error {
			link, err := optionalObject(v)
			if err != nil {
				return err
			}
			p.LocalLinkConnection, err = normalLink(link)
			return schemaOf("local_link_connection", err)
		},
	},
}

func optionalObject(v any) (metal.JSON, error) {
	switch t := v.(type) {
	case nil:
		return metal.EmptyObject, nil
	case map[string]any:
		return metal.ToJSON(t), nil
	}
	return "", wrongType(v, "object", "null")
}

// checkPhysicalNetwork refuses a name that is none.
func checkPhysicalNetwork(p *metal.Port) error {
	if p.PhysicalNetwork != nil && *p.PhysicalNetwork == "" {
		return badRequest("A non-empty value is required when setting physical_network")
	}
	return nil
}

func portText(limit int, field func(p *metal.Port) **string) portAttribute {
	return portAttribute{
		get: func(p *metal.Port) any { return textOrNil(*field(p)) },
		set: func(p *metal.Port, v any) error {
			s, err := optionalText(limit, v)
			if err != nil {
				return err
			}
			*field(p) = s
			return nil
		},
	}
}

// portFlag is a boolean that null and removal bring back to its default.
func portFlag(name string, fallback bool, field func(p *metal.Port) *bool) portAttribute {
	return portAttribute{
		get: func(p *metal.Port) any { return *field(p) },
		set: func(p *metal.Port, v any) error {
			b, err := optionalBool(name, v)
			if err != nil {
				return err
			}
			*field(p) = fallback
			if b != nil {
				*field(p) = *b
			}
			return nil
		},
	}
}

var datapathID = regexp.MustCompile(`^[0-9a-fA-F]{16}$`)

// linkKeys are the keys of a local link; all are strings.
var linkKeys = map[string]bool{
	"port_id": true, "switch_id": true, "hostname": true, "switch_info": true, "network_type": true,
	"vtep-logical-switch": true, "vtep-physical-switch": true,
}

// normalLink checks a local link against the sorts that there are, and writes
// its switch_id in lower case.
func normalLink(link metal.JSON) (metal.JSON, error) {
	m := link.Object()
	for k, v := range m {
		if _, ok := v.(string); !ok && linkKeys[k] {
			return "", wrongType(v, "string")
		}
	}
	if err := onlyKnown(m, func(name string) bool { return linkKeys[name] }); err != nil {
		return "", err
	}
	network, _ := m["network_type"].(string)
	if kinds := []string{"managed", "unmanaged"}; has(m, "network_type") && !slices.Contains(kinds, network) {
		return "", notOneOf(network, kinds)
	}
	if has(m, "vtep-logical-switch") != has(m, "vtep-physical-switch") {
		given, needed := "vtep-logical-switch", "vtep-physical-switch"
		if has(m, needed) {
			given, needed = needed, given
		}
		return "", noAlternative(m, violates("%s is a dependency of %s", shown(needed), shown(given)))
	}
	switch {
	case len(m) == 0, network == "unmanaged":
	case has(m, "port_id", "switch_id"), has(m, "port_id", "hostname"), has(m, "port_id", "vtep-logical-switch", "vtep-physical-switch"):
	default:
		return "", noAlternative(m, missing("port_id"))
	}
	if id, given := m["switch_id"].(string); given {
		if _, ok := normalMAC(id); !ok && !datapathID.MatchString(id) {
			return "", badRequest("Expected a MAC address or OpenFlow datapath ID but received %s.", id)
		}
		m["switch_id"] = strings.ToLower(id)
	}
	return metal.ToJSON(m), nil
}

func has(m map[string]any, keys ...string) bool {
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			return false
		}
	}
	return true
}

// gateLink refuses the keys of a link that the version does not know.
func gateLink(v openapi.Version, value any) error {
	m, _ := value.(map[string]any)
	if v < 64 && has(m, "network_type") || hidesVTEP(v) && has(m, "vtep-logical-switch") {
		return notAcceptable()
	}
	return nil
}

// checkSmartNIC refuses a smart NIC whose link does not say where it is.
func checkSmartNIC(p *metal.Port) error {
	if p.IsSmartNIC && !p.LocalLinkConnection.Empty() && !has(p.LocalLinkConnection.Object(), "port_id", "hostname") {
		return badRequest("Smart NIC port must have port_id and hostname in local_link_connection")
	}
	return nil
}
