package v1

// actionHandlers are the handlers of what is done to one node's hardware, by
// the id of the operation.
func (s *Service) actionHandlers() map[string]handler {
	all := map[string]handler{
		"setBootMode": s.setBootMode, "setSecureBoot": s.setSecureBoot, "setRAID": s.setRAID,
		"getConsole": s.getConsole, "setConsole": s.setConsole, "injectNMI": s.injectNMI,
		"listIndicators": s.listIndicators, "getIndicator": s.getIndicator, "setIndicator": s.setIndicator,
		"listVIFs": s.listVIFs, "attachVIF": s.attachVIF, "detachVIF": s.detachVIF,
		"getMedia": s.getMedia, "attachMedia": s.attachMedia, "detachMedia": s.detachMedia,
		"listVendorMethods": s.listVendorMethods, "listDriverVendorMethods": s.listDriverVendorMethods,
	}
	for _, method := range []string{"Get", "Post", "Put", "Patch", "Delete"} {
		all["callVendorMethod"+method] = s.callVendorMethod
		all["callNamedVendorMethod"+method] = s.callVendorMethod
		all["callDriverVendorMethod"+method] = s.callDriverVendorMethod
		all["callNamedDriverVendorMethod"+method] = s.callDriverVendorMethod
	}
	return all
}
