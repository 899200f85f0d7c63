package hardware

import (
	"maps"
	"slices"
	"strings"

	"ferrule/metal"
)

// VendorMethod describes one method of a vendor interface, as clients list it
// (Ironic: drivers/base.passthru).
type VendorMethod struct {
	HTTPMethods   []string
	Async         bool   // answered before it is done
	ExclusiveLock bool   // waits for other work on the node to end
	Attach        bool   // the result is sent as a file
	Description   string // what it does
	Needs         string // an argument that has to be given
	Any           bool   // takes arguments of any name
	// Operation is the operation of the driver that the method stands for, with
	// its arguments; nil: the driver is given the call itself.
	Operation func(arguments map[string]any) (metal.Operation, any)
}

// VendorMethods are the methods of the node's vendor interface.
func (m Machine) VendorMethods() map[string]VendorMethod {
	return m.Row(metal.VendorInterface).Vendor.Methods
}

// VendorMethod finds the method that a call names, and checks the call.
func (m Machine) VendorMethod(call metal.VendorCallArgs) (VendorMethod, error) {
	method, ok := m.VendorMethods()[call.Method]
	switch {
	case !ok:
		return method, metal.Errorf(metal.Invalid, "No handler for method %s: the vendor interface %s of node %s has %v.",
			call.Method, m.Node.VendorInterface, m.Node.Label(), slices.Sorted(maps.Keys(m.VendorMethods())))
	case !slices.Contains(method.HTTPMethods, call.HTTPMethod):
		return method, metal.Errorf(metal.Invalid, "The method %s does not support HTTP %s; it takes %s.",
			call.Method, call.HTTPMethod, strings.Join(method.HTTPMethods, ", "))
	case method.Needs != "" && !filled(call.Arguments[method.Needs]):
		return method, metal.Errorf(metal.Invalid, "Parameter '%s' not passed to method '%s'.", method.Needs, call.Method)
	}
	return method, nil
}

func filled(v any) bool {
	switch t := v.(type) {
	case nil:
		return false
	case bool:
		return t
	case string:
		return t != ""
	}
	return true
}
