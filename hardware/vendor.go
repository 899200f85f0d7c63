package hardware

import (
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
}

var vendorMethods = map[string]map[string]VendorMethod{
	"fake": {
		"second_method": {
			HTTPMethods: []string{"POST"}, Async: true, ExclusiveLock: true, Needs: "bar",
			Description: "Test if the value of bar is kazoo",
		},
		"third_method_sync": {
			HTTPMethods: []string{"POST"}, ExclusiveLock: true, Needs: "bar",
			Description: "Test if the value of bar is meow",
		},
		"fourth_method_shared_lock": {
			HTTPMethods: []string{"POST"}, Async: true, Needs: "bar",
			Description: "Test if the value of bar is woof",
		},
		"log_passthrough": {
			HTTPMethods: []string{"POST"}, Async: true, ExclusiveLock: true, Any: true,
			Description: "Test pass-through to wait.",
		},
	},
	"redfish": {
		"eject_vmedia": {
			HTTPMethods: []string{"POST"}, Async: true, ExclusiveLock: true, Any: true,
			Description: "Eject virtual media: the device that boot_device names (cdrom, floppy or disk), or all.",
		},
	},
}

// VendorMethods are the methods of the node's vendor interface.
func VendorMethods(n *metal.Node) map[string]VendorMethod { return vendorMethods[n.VendorInterface] }

// VendorMethodFor finds the method that a call names, and checks the call.
func VendorMethodFor(n *metal.Node, call metal.VendorCallArgs) (VendorMethod, error) {
	m, ok := VendorMethods(n)[call.Method]
	switch {
	case !ok:
		return m, metal.Errorf(metal.Invalid, "No handler for method %s: the vendor interface %s of node %s has %v.",
			call.Method, n.VendorInterface, n.Label(), sortedNames(VendorMethods(n)))
	case !slices.Contains(m.HTTPMethods, call.HTTPMethod):
		return m, metal.Errorf(metal.Invalid, "The method %s does not support HTTP %s; it takes %s.",
			call.Method, call.HTTPMethod, strings.Join(m.HTTPMethods, ", "))
	case m.Needs != "" && !filled(call.Arguments[m.Needs]):
		return m, metal.Errorf(metal.Invalid, "Parameter '%s' not passed to method '%s'.", m.Needs, call.Method)
	}
	return m, nil
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

func sortedNames(methods map[string]VendorMethod) []string {
	names := make([]string, 0, len(methods))
	for name := range methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
