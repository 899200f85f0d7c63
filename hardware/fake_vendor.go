package hardware

import "ferrule/metal"

// fakeVendor has the example methods of Ironic's FakeVendorB.
var fakeVendor = Interface{
	Type: metal.VendorInterface, Name: "fake",
	Properties: []Property{
		{Key: "B1", Required: true, Help: "An example of a required value."},
		{Key: "B2", Required: true, Help: "Another example of a required value."},
	},
	Needs:   []metal.Operation{metal.VendorCall},
	Driver:  "fake",
	Request: fakeRequest,
	Steps: []Step{
		{
			Step:  metal.Step{Interface: string(metal.VendorInterface), Step: "log_passthrough", Priority: 1, RequiresRamdisk: true},
			Kinds: []metal.StepKind{metal.CleanSteps},
		},
		{
			Step:  metal.Step{Interface: string(metal.VendorInterface), Step: "log_passthrough"},
			Kinds: []metal.StepKind{metal.ServiceSteps},
		},
		{
			Step:  metal.Step{Interface: string(metal.VendorInterface), Step: "trigger_servicewait", RequiresRamdisk: true},
			Kinds: []metal.StepKind{metal.ServiceSteps},
			Tasks: func(Machine, metal.Step) []Task { return WaitForCall() },
		},
	},
	Vendor: Vendor{Methods: map[string]VendorMethod{
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
	}},
}
