package v1

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
)

// getBootDevice asks the BMC for the boot device.
func (s *Service) getBootDevice(c *call) error {
	n, err := s.managed(c)
	if err != nil {
		return err
	}
	if fixed := s.management(n).Fixed; fixed != nil {
		return c.JSON(http.StatusOK, map[string]any{"boot_device": fixed.Device, "persistent": fixed.Persistent})
	}
	if err := s.waitUntilFree(c.Request().Context(), n.UUID); err != nil {
		return err
	}
	var result metal.BootDeviceArgs
	if err := s.ask(c.Request().Context(), n, metal.BootDeviceGet, nil, &result); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"boot_device": emptyAsNull(result.Device), "persistent": result.Persistent})
}

// setBootDevice sets it, and answers when the BMC has.
func (s *Service) setBootDevice(c *call) error {
	kw, err := c.keywords()
	if err != nil {
		return err
	}
	if err := kw.required("boot_device"); err != nil {
		return err
	}
	device, err := kw.text("boot_device")
	if err != nil {
		return err
	}
	persistent, err := kw.boolean("persistent")
	if err != nil {
		return err
	}
	n, err := s.managed(c)
	if err != nil {
		return err
	}
	args := metal.BootDeviceArgs{Persistent: persistent != nil && *persistent}
	if device != nil {
		args.Device = *device
	}
	if !slices.Contains(s.management(n).BootDevices, args.Device) {
		return badRequest("Invalid boot device %s specified.", args.Device)
	}
	ctx := c.Request().Context()
	if err := s.waitUntilFree(ctx, n.UUID); err != nil {
		return err
	}
	if s.management(n).Fixed == nil {
		if err := s.ask(ctx, n, metal.BootDeviceSet, args, nil); err != nil {
			return err
		}
	}
	return c.empty(http.StatusNoContent)
}

// getSupportedBootDevices needs no BMC.
func (s *Service) getSupportedBootDevices(c *call) error {
	n, err := s.managed(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"supported_boot_devices": s.management(n).BootDevices})
}

// managed is the node of the path, if its management interface can work.
func (s *Service) managed(c *call) (*metal.Node, error) {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return nil, err
	}
	if err := s.requireConductor(c.Request().Context(), &n, http.StatusNotFound); err != nil {
		return nil, err
	}
	return &n, s.machine(&n).Validate(metal.ManagementInterface)
}

// management is what the node's management interface has.
func (s *Service) management(n *metal.Node) hardware.Management {
	return s.machine(n).Row(metal.ManagementInterface).Management
}

// waitUntilFree waits a little for work on the node to end.
func (s *Service) waitUntilFree(ctx context.Context, uuid string) error {
	return s.changeNode(ctx, uuid, func(context.Context, *store.Tx, *metal.Node) error { return nil })
}

// ask has the node's agent carry out one operation and reads its result.
func (s *Service) ask(ctx context.Context, n *metal.Node, op metal.Operation, args, result any) error {
	req, err := s.machine(n).Request(op)
	if err != nil {
		return err
	}
	if args != nil {
		if req.ArgsJSON, err = json.Marshal(args); err != nil {
			return fmt.Errorf("write the arguments of %s: %w", op, err)
		}
	}
	answer, err := s.commands.Do(ctx, n, req)
	if err != nil {
		return err
	}
	if !answer.OK {
		return refusedByBMC(n, answer)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.ResultJSON, result); err != nil {
		return fmt.Errorf("read the result of %s: %w", op, err)
	}
	return nil
}

// refusedByBMC is the fault of a command that was carried out and came to
// nothing.
func refusedByBMC(n *metal.Node, r metal.CommandResult) error {
	status := http.StatusBadRequest
	switch r.ErrorCode {
	case metal.CodeUnreachable, metal.CodeOutcomeUnknown, metal.CodeCredentialsUnavailable:
		status = http.StatusServiceUnavailable
	}
	text := r.Message
	if text == "" {
		text = string(r.ErrorCode)
	}
	return faultf(status, "The BMC of node %s refused: %s", n.UUID, text)
}

func emptyAsNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
