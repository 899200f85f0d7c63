package v1

import (
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
)

type portEncoder func(b []byte, p *metal.Port, e *encoding) []byte

// portEncoders has one encoder for each field of the registry, by its index;
// nil where the field is of requests only.
var portEncoders = [...]portEncoder{
	openapi.PortUUID:         func(b []byte, p *metal.Port, _ *encoding) []byte { return appendString(b, p.UUID) },
	openapi.PortAddress:      func(b []byte, p *metal.Port, _ *encoding) []byte { return appendString(b, p.Address) },
	openapi.PortNodeUUID:     func(b []byte, p *metal.Port, _ *encoding) []byte { return appendString(b, p.NodeUUID) },
	openapi.PortNodeIdent:    nil,
	openapi.PortExtra:        func(b []byte, p *metal.Port, _ *encoding) []byte { return appendObject(b, p.Extra) },
	openapi.PortInternalInfo: func(b []byte, p *metal.Port, _ *encoding) []byte { return appendObject(b, p.InternalInfo) },
	openapi.PortLocalLinkConnection: func(b []byte, p *metal.Port, e *encoding) []byte {
		if hidesVTEP(e.version) && strings.Contains(string(p.LocalLinkConnection), `"vtep-`) {
			return append(b, "{}"...)
		}
		return appendObject(b, p.LocalLinkConnection)
	},
	openapi.PortPxeEnabled:      func(b []byte, p *metal.Port, _ *encoding) []byte { return appendBool(b, p.PXEEnabled) },
	openapi.PortPortgroupUUID:   func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullable(b, p.PortgroupUUID) },
	openapi.PortPhysicalNetwork: func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullable(b, p.PhysicalNetwork) },
	openapi.PortIsSmartnic:      func(b []byte, p *metal.Port, _ *encoding) []byte { return appendBool(b, p.IsSmartNIC) },
	openapi.PortName:            func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullable(b, p.Name) },
	openapi.PortDescription:     func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullable(b, p.Description) },
	openapi.PortVendor:          func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullable(b, p.Vendor) },
	openapi.PortCategory:        func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullable(b, p.Category) },
	openapi.PortAvailableForDynamicPortgroup: func(b []byte, p *metal.Port, _ *encoding) []byte {
		return appendBool(b, p.AvailableForDynamicPortgroup)
	},
	openapi.PortCreatedAt: func(b []byte, p *metal.Port, _ *encoding) []byte { return appendTime(b, p.CreatedAt) },
	openapi.PortUpdatedAt: func(b []byte, p *metal.Port, _ *encoding) []byte { return appendNullableTime(b, p.UpdatedAt) },
	openapi.PortLinks:     func(b []byte, p *metal.Port, e *encoding) []byte { return appendLinks(b, e.base, "ports", p.UUID) },
}

// hidesVTEP reports whether version v shows a link that names a VTEP as {}:
// the keys came with 1.90 and went with 1.105.
func hidesVTEP(v openapi.Version) bool { return v < 90 || v >= 105 }

// appendPort appends one port in the view.
func appendPort(b []byte, p *metal.Port, fields view, e *encoding) []byte {
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, openapi.PortFields.Fields[f].Name)
		b = portEncoders[f](b, p, e)
	}
	return append(b, '}')
}
