package hardware

import "ferrule/metal"

var redfishVendor = Interface{
	Type: metal.VendorInterface, Name: "redfish",
	Properties: redfishProperties,
	Offers:     []metal.Operation{metal.VirtualMediaEject},
	Driver:     "redfish",
	Request:    redfishRequest,
	Vendor: Vendor{Methods: map[string]VendorMethod{
		"eject_vmedia": {
			HTTPMethods: []string{"POST"}, Async: true, ExclusiveLock: true, Any: true,
			Description: "Eject virtual media: the device that boot_device names (cdrom, floppy or disk), or all.",
			Operation:   ejectMedia,
		},
	}},
}

func ejectMedia(arguments map[string]any) (metal.Operation, any) {
	var args metal.EjectMediaArgs
	if device, ok := arguments["boot_device"].(string); ok && device != "" {
		args.Devices = []string{device}
	}
	return metal.VirtualMediaEject, args
}
