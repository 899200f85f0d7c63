package v1

import (
	"net/http"

	"ferrule/hardware"
	"ferrule/metal"
)

// listVendorMethods tells what the node's vendor interface offers.
func (s *Service) listVendorMethods(c *call) error {
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, describeMethods(s.machine(n).VendorMethods()))
}

func describeMethods(methods map[string]hardware.VendorMethod) map[string]any {
	list := map[string]any{}
	for name, m := range methods {
		list[name] = map[string]any{
			"http_methods": m.HTTPMethods, "async": m.Async, "attach": m.Attach, "description": m.Description,
			"require_exclusive_lock": m.ExclusiveLock,
		}
	}
	return list
}

// callVendorMethod hands a call to the node's vendor interface: at once, or
// behind the answer where the method is asynchronous.
func (s *Service) callVendorMethod(c *call) error {
	args, err := c.vendorCall()
	if err != nil {
		return err
	}
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	method, err := s.machine(n).VendorMethod(args)
	if err != nil {
		return err
	}
	if method.Async && method.ExclusiveLock {
		err := s.act(c, n, metal.ActionVendor, withoutSecrets(args), func(n *metal.Node) error {
			_, err := s.machine(n).VendorMethod(args)
			return err
		})
		if err != nil {
			return err
		}
		return c.empty(http.StatusAccepted)
	}
	ctx := c.Request().Context()
	if method.ExclusiveLock {
		if err := s.waitUntilFree(ctx, n.UUID); err != nil {
			return err
		}
	}
	var result metal.VendorCallResult
	if err := s.ask(ctx, n, metal.VendorCall, args, &result); err != nil {
		return err
	}
	if method.Async {
		// It may run beside other work, so no operation waits for its turn;
		// its result is nobody's.
		return c.empty(http.StatusAccepted)
	}
	return c.json(http.StatusOK, []byte(metal.ToJSON(result.Return)))
}

// vendorCall reads a call: the method from the path or the query, the arguments
// from a body that is any object.
func (c *call) vendorCall() (metal.VendorCallArgs, error) {
	args := metal.VendorCallArgs{Method: c.Param("method"), HTTPMethod: c.Request().Method}
	if name := c.query.text("method"); args.Method == "" && name != nil {
		args.Method = *name
	}
	if args.Method == "" {
		return args, badRequest("Method not specified")
	}
	v, err := decode(c.raw)
	if err != nil {
		return args, err
	}
	switch t := v.(type) {
	case nil:
	case map[string]any:
		args.Arguments = t
	default:
		return args, badRequest("The arguments of a vendor method are a JSON object")
	}
	return args, nil
}

// withoutSecrets is the call as it may be stored until it is carried out.
func withoutSecrets(args metal.VendorCallArgs) metal.VendorCallArgs {
	args.Arguments = masked(args.Arguments).Object()
	return args
}

// listDriverVendorMethods: no vendor interface that is built in has methods of
// the driver's own, as none of Ironic's has.
func (s *Service) listDriverVendorMethods(c *call) error {
	if _, err := s.driver(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{})
}

func (s *Service) callDriverVendorMethod(c *call) error {
	args, err := c.vendorCall()
	if err != nil {
		return err
	}
	d, err := s.driver(c)
	if err != nil {
		return err
	}
	return badRequest("No handler for method %s: the driver %s has no vendor methods of its own.", args.Method, d.name)
}
