package v1

import (
	"context"
	"net/http"

	"ferrule/metal"
	"ferrule/store"
)

// The handlers here tell the hardware something. Those that Ironic answers
// before it is done open an operation on the action axis; the others wait for
// the one command (bootdevice.go has how).

// act opens an action on the node, with the answer that promises it.
func (s *Service) act(c *call, n *metal.Node, action metal.Action, args any, check func(n *metal.Node) error) error {
	return s.changeNode(c.Request().Context(), n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		if err := check(n); err != nil {
			return err
		}
		n.LastError = nil
		return s.open(ctx, tx, c, n, metal.OperationRecord{
			Axis: metal.AxisAction, Verb: string(action), Args: metal.ToJSON(args),
		})
	})
}

// servedNode is the node of the path, if somebody serves it; status is what the
// route answers where nobody does.
func (s *Service) servedNode(c *call, status int) (*metal.Node, error) {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return nil, err
	}
	return &n, s.requireConductor(c.Request().Context(), &n, status)
}

func (s *Service) manageable(n *metal.Node) error {
	return s.machine(n).Validate(metal.ManagementInterface)
}

// checkSteady refuses to change how a node boots while it is being worked on.
func checkSteady(n *metal.Node, what string) error {
	if info, _ := n.ProvisionState.Info(); info.Unstable {
		return conflict("Node %s is in %s state. Since the node is transitioning, the %s will not be set, as this may interfere with ongoing changes. Try again later.",
			n.UUID, n.ProvisionState, what)
	}
	return nil
}

func (s *Service) setBootMode(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	if err := kw.required("target"); err != nil {
		return err
	}
	target, err := kw.text("target")
	if err != nil {
		return err
	}
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	if target == nil || *target != "bios" && *target != "uefi" {
		return badRequest("Invalid boot mode requested for node %s. Allowed boot modes are: uefi, bios", n.UUID)
	}
	return s.setBooting(c, n, metal.ActionBootMode, metal.BootModeArgs{Mode: *target}, "boot mode")
}

func (s *Service) setSecureBoot(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	if err := kw.required("target"); err != nil {
		return err
	}
	target, err := kw.boolean("target")
	if err != nil {
		return err
	}
	if err := c.checkVersion(); err != nil {
		return err
	}
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	if target == nil {
		return badRequest("Invalid secure_boot requested for node %s. Allowed secure_boot states are: true, false", n.UUID)
	}
	return s.setBooting(c, n, metal.ActionSecureBoot, metal.SecureBootArgs{Enabled: *target}, "secure boot")
}

func (s *Service) setBooting(c *call, n *metal.Node, action metal.Action, args any, what string) error {
	if err := checkSteady(n, what); err != nil {
		return err
	}
	err := s.act(c, n, action, args, func(n *metal.Node) error {
		if err := checkSteady(n, what); err != nil {
			return err
		}
		return s.manageable(n)
	})
	if err != nil {
		return err
	}
	c.location("nodes/" + c.Param("node") + "/states")
	return c.empty(http.StatusAccepted)
}

func (s *Service) injectNMI(c *call) error {
	if _, err := c.keywords(); err != nil {
		return err
	}
	n, err := s.managed(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := s.waitUntilFree(ctx, n.UUID); err != nil {
		return err
	}
	if err := s.machine(n).Manages(metal.NMIInject); err != nil {
		return err
	}
	if err := s.ask(ctx, n, metal.NMIInject, nil, nil); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

// getConsole tells how to reach the console. One that is off is no error.
func (s *Service) getConsole(c *call) error {
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	if !n.ConsoleEnabled {
		return c.JSON(http.StatusOK, map[string]any{"console_enabled": false, "console_info": nil})
	}
	if err := s.machine(n).Validate(metal.ConsoleInterface); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"console_enabled": true, "console_info": map[string]any{}})
}

func (s *Service) setConsole(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	if err := kw.required("enabled"); err != nil {
		return err
	}
	enabled, err := kw.boolean("enabled")
	if err != nil {
		return err
	}
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	if err := s.machine(n).Validate(metal.ConsoleInterface); err != nil {
		return err
	}
	on := enabled != nil && *enabled
	if on != n.ConsoleEnabled {
		if err := s.act(c, n, metal.ActionConsole, metal.ConsoleArgs{Enabled: on}, func(*metal.Node) error { return nil }); err != nil {
			return err
		}
	}
	c.location("nodes/" + c.Param("node") + "/states/console")
	return c.empty(http.StatusAccepted)
}

// setRAID stores what the next RAID step is to build. An empty configuration
// clears it, on any node.
func (s *Service) setRAID(c *call) error {
	v, err := decode(c.raw)
	if err != nil {
		return err
	}
	target, ok := v.(map[string]any)
	if !ok {
		return badRequest("Expected an object for target_raid_config")
	}
	n, err := s.servedNode(c, http.StatusNotFound)
	if err != nil {
		return err
	}
	err = s.changeNode(c.Request().Context(), n.UUID, func(ctx context.Context, tx *store.Tx, n *metal.Node) error {
		if len(target) > 0 {
			m := s.machine(n)
			if err := m.CheckRAIDConfig(target); err != nil {
				if m.Row(metal.RAIDInterface).Absent {
					return notFound("%s", asFault(err).Text)
				}
				return err
			}
		}
		n.TargetRAIDConfig = metal.ToJSON(target)
		return tx.UpdateNode(ctx, n, "target_raid_config")
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
