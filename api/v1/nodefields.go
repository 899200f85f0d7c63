package v1

import (
	"slices"
	"strconv"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
)

// encoding is what the encoder needs besides the object.
type encoding struct {
	base      string // scheme and host of links
	version   openapi.Version
	conductor func(n *metal.Node) string // "" for none
	rights    *rights                    // nil: of one who may see no secrets and all else
	redaction redaction                  // of the node at hand
}

type nodeEncoder func(b []byte, n *metal.Node, e *encoding) []byte

// nodeEncoders has one encoder for each field of the registry, by its index.
var nodeEncoders = [...]nodeEncoder{
	openapi.NodeUUID:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendString(b, n.UUID) },
	openapi.NodeName:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Name) },
	openapi.NodePowerState: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.PowerState) },
	openapi.NodeProvisionState: func(b []byte, n *metal.Node, e *encoding) []byte {
		return appendText(b, string(visibleState(n.ProvisionState, e.version)))
	},
	openapi.NodeMaintenance:         func(b []byte, n *metal.Node, _ *encoding) []byte { return appendBool(b, n.Maintenance) },
	openapi.NodeInstanceUUID:        func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.InstanceUUID) },
	openapi.NodeDriver:              func(b []byte, n *metal.Node, _ *encoding) []byte { return appendString(b, n.Driver) },
	openapi.NodeBIOSInterface:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.BIOSInterface) },
	openapi.NodeBootInterface:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.BootInterface) },
	openapi.NodeConsoleInterface:    func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.ConsoleInterface) },
	openapi.NodeDeployInterface:     func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.DeployInterface) },
	openapi.NodeFirmwareInterface:   func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.FirmwareInterface) },
	openapi.NodeInspectInterface:    func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.InspectInterface) },
	openapi.NodeManagementInterface: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.ManagementInterface) },
	openapi.NodeNetworkInterface:    func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.NetworkInterface) },
	openapi.NodePowerInterface:      func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.PowerInterface) },
	openapi.NodeRAIDInterface:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.RAIDInterface) },
	openapi.NodeRescueInterface:     func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.RescueInterface) },
	openapi.NodeStorageInterface:    func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.StorageInterface) },
	openapi.NodeVendorInterface:     func(b []byte, n *metal.Node, _ *encoding) []byte { return appendText(b, n.VendorInterface) },
	openapi.NodeDriverInfo: func(b []byte, n *metal.Node, e *encoding) []byte {
		switch {
		case e.redaction.driverInfo:
			return append(b, redactedDriverInfo...)
		case e.redaction.showSecrets:
			return appendWithoutRefs(b, n.DriverInfo)
		}
		return appendMasked(b, n.DriverInfo, "snmp_auth_key", "snmp_priv_key")
	},
	openapi.NodeDriverInternalInfo: func(b []byte, n *metal.Node, e *encoding) []byte {
		switch {
		case e.redaction.internalInfo:
			return append(b, redactedInternalInfo...)
		case e.redaction.showSecrets:
			return appendWithoutRefs(b, n.DriverInternalInfo)
		}
		return appendMasked(b, n.DriverInternalInfo)
	},
	openapi.NodeProperties: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.Properties) },
	openapi.NodeExtra:      func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.Extra) },
	openapi.NodeInstanceInfo: func(b []byte, n *metal.Node, e *encoding) []byte {
		if e.redaction.showInstanceSecrets {
			return appendWithoutRefs(b, n.InstanceInfo)
		}
		return appendMasked(b, n.InstanceInfo, "configdrive", "image_url")
	},
	openapi.NodeInstanceName: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.InstanceName) },
	openapi.NodeChassisUUID:  func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.ChassisUUID) },
	openapi.NodeConductor: func(b []byte, n *metal.Node, e *encoding) []byte {
		return appendText(b, e.conductor(n))
	},
	openapi.NodeConductorGroup:   func(b []byte, n *metal.Node, _ *encoding) []byte { return appendString(b, n.ConductorGroup) },
	openapi.NodeConsoleEnabled:   func(b []byte, n *metal.Node, _ *encoding) []byte { return appendBool(b, n.ConsoleEnabled) },
	openapi.NodeCleanStep:        func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.CleanStep) },
	openapi.NodeDeployStep:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.DeployStep) },
	openapi.NodeServiceStep:      func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.ServiceStep) },
	openapi.NodeRAIDConfig:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.RAIDConfig) },
	openapi.NodeTargetRAIDConfig: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.TargetRAIDConfig) },
	openapi.NodeLastError: func(b []byte, n *metal.Node, e *encoding) []byte {
		if e.redaction.lastError {
			return appendString(b, redactedLastError)
		}
		return appendNullable(b, n.LastError)
	},
	openapi.NodeReservation: func(b []byte, n *metal.Node, e *encoding) []byte {
		if e.redaction.reservation {
			return appendString(b, redactedReservation)
		}
		return appendNullable(b, n.Reservation)
	},
	openapi.NodeMaintenanceReason: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.MaintenanceReason) },
	openapi.NodeFault:             func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Fault) },
	openapi.NodeTargetPowerState:  func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.TargetPowerState) },
	openapi.NodeTargetProvisionState: func(b []byte, n *metal.Node, _ *encoding) []byte {
		return appendText(b, string(n.TargetProvisionState))
	},
	openapi.NodeProvisionUpdatedAt:  func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullableTime(b, n.ProvisionUpdatedAt) },
	openapi.NodeInspectionStartedAt: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullableTime(b, n.InspectionStartedAt) },
	openapi.NodeInspectionFinishedAt: func(b []byte, n *metal.Node, _ *encoding) []byte {
		return appendNullableTime(b, n.InspectionFinishedAt)
	},
	openapi.NodeResourceClass:   func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.ResourceClass) },
	openapi.NodeAutomatedClean:  func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullableBool(b, n.AutomatedClean) },
	openapi.NodeProtected:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendBool(b, n.Protected) },
	openapi.NodeProtectedReason: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.ProtectedReason) },
	openapi.NodeRetired:         func(b []byte, n *metal.Node, _ *encoding) []byte { return appendBool(b, n.Retired) },
	openapi.NodeRetiredReason:   func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.RetiredReason) },
	openapi.NodeOwner:           func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Owner) },
	openapi.NodeLessee:          func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Lessee) },
	openapi.NodeDescription:     func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Description) },
	openapi.NodeAllocationUUID:  func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.AllocationUUID) },
	openapi.NodeTraits:          func(b []byte, n *metal.Node, _ *encoding) []byte { return appendStrings(b, n.Traits) },
	openapi.NodeNetworkData:     func(b []byte, n *metal.Node, _ *encoding) []byte { return appendObject(b, n.NetworkData) },
	openapi.NodeBootMode:        func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.BootMode) },
	openapi.NodeSecureBoot:      func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullableBool(b, n.SecureBoot) },
	openapi.NodeShard:           func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Shard) },
	openapi.NodeParentNode:      func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.ParentNode) },
	openapi.NodeDisablePowerOff: func(b []byte, n *metal.Node, _ *encoding) []byte { return appendBool(b, n.DisablePowerOff) },
	openapi.NodeHealth:          func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullable(b, n.Health) },
	openapi.NodeCreatedAt:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendTime(b, n.CreatedAt) },
	openapi.NodeUpdatedAt:       func(b []byte, n *metal.Node, _ *encoding) []byte { return appendNullableTime(b, n.UpdatedAt) },
	openapi.NodeLinks:           func(b []byte, n *metal.Node, e *encoding) []byte { return appendLinks(b, e.base, "nodes", n.UUID) },
	openapi.NodePorts: func(b []byte, n *metal.Node, e *encoding) []byte {
		return appendLinks(b, e.base, "nodes", n.UUID, "ports")
	},
	openapi.NodeStates: func(b []byte, n *metal.Node, e *encoding) []byte {
		return appendLinks(b, e.base, "nodes", n.UUID, "states")
	},
	openapi.NodePortgroups: func(b []byte, n *metal.Node, e *encoding) []byte {
		return appendLinks(b, e.base, "nodes", n.UUID, "portgroups")
	},
	openapi.NodeVolume: func(b []byte, n *metal.Node, e *encoding) []byte {
		return appendLinks(b, e.base, "nodes", n.UUID, "volume")
	},
}

// visibleState is the provision state as clients of version v know it.
func visibleState(s metal.State, v openapi.Version) metal.State {
	switch {
	case v < 2 && s == metal.Available:
		return metal.NoState
	case v < 39 && s == metal.InspectWait:
		return metal.Inspecting
	}
	return s
}

// view is the fields that an answer shows, by index.
type view []int

// appendNode appends one node in the view.
func appendNode(b []byte, n *metal.Node, fields view, e *encoding) []byte {
	if e.rights != nil {
		e.redaction = e.rights.redact(n)
	}
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKey(b, openapi.NodeFields.Fields[f].Name)
		b = nodeEncoders[f](b, n, e)
	}
	return append(b, '}')
}

// appendKey appends an object key that needs no escaping.
func appendKey(b []byte, key string) []byte {
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// detailView is every field that version v shows.
func detailView(r *openapi.Resource, v openapi.Version) view {
	out := make(view, 0, len(r.Fields))
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Detail && f.VisibleAt(v) {
			out = append(out, i)
		}
	}
	return out
}

// listView is the default view of a list at version v.
func listView(r *openapi.Resource, v openapi.Version) view {
	out := view{}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.List && f.VisibleAt(v) {
			out = append(out, i)
		}
	}
	return out
}

// checkNames refuses a name that the resource does not have at version v, in the
// words of a schema.
func checkNames(r *openapi.Resource, v openapi.Version, names []string) error {
	var known []string
	for _, f := range r.Fields {
		if f.Select && f.VisibleAt(v) {
			known = append(known, f.Name)
		}
	}
	slices.Sort(known)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return notOneOf(name, known)
		}
	}
	return nil
}

// selectView is the fields that fields= names, and links. A name that the
// resource does not have is 400, one that version v does not have 406.
func selectView(r *openapi.Resource, v openapi.Version, names []string) (view, error) {
	out := view{}
	var unknown []string
	for _, name := range names {
		f, i, ok := r.Field(name)
		switch {
		case !ok || !f.Select:
			unknown = append(unknown, name)
		case !f.VisibleAt(v) && !f.EarlySelect:
			return nil, notAcceptable()
		case !f.VisibleAt(v): // not refused, and not shown
		case name != "links":
			out = append(out, i)
		}
	}
	if len(unknown) > 0 {
		return nil, badRequest("Field(s) %s are not valid", strconv.Quote(strings.Join(unknown, ", ")))
	}
	if _, i, ok := r.Field("links"); ok {
		out = append(out, i)
	}
	return out, nil
}
