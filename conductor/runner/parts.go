package runner

import (
	"errors"
	"fmt"

	"ferrule/hardware"
	"ferrule/metal"
)

// What is kept of a node's parts: secure boot, firmware, BIOS settings. All but
// the BIOS steps is read along the way, and nothing fails where it cannot be.
var partActions = map[string]action{
	hardware.TaskReadSecureBoot: {start: readSecureBoot, result: secureBootRead},
	hardware.TaskReadFirmware:   {start: readFirmware, result: firmwareRead},
	hardware.TaskSetBIOS:        {start: setBIOS},
	hardware.TaskRefuse:         {start: refuse},
}

// refuse fails the plan where no agent of the site had joined when the verb was
// asked for, so that the verb was not refused.
func refuse(_ *run, t task) (verdict, error) {
	var what string
	if err := t.Args.Decode(&what); err != nil {
		return stay, fmt.Errorf("read what cannot be carried out: %w", err)
	}
	return stay, fmt.Errorf("no agent can carry out the %s yet; choose another interface or leave the step out", what)
}

func readSecureBoot(r *run, _ task) (verdict, error) {
	if r.machine().Manages(metal.SecureBootGet) != nil {
		return done, nil
	}
	return r.bmc(metal.SecureBootGet, nil, 0)
}

func secureBootRead(r *run, _ task, res metal.CommandResult) (verdict, error) {
	var s metal.SecureBootArgs
	if res.OK && metal.JSON(res.ResultJSON).Decode(&s) == nil {
		r.node.SecureBoot = &s.Enabled
	}
	return done, nil
}

func readFirmware(r *run, _ task) (verdict, error) { return r.bmc(metal.FirmwareComponents, nil, 0) }

func firmwareRead(r *run, _ task, res metal.CommandResult) (verdict, error) {
	var found metal.FirmwareComponentsResult
	if !res.OK || metal.JSON(res.ResultJSON).Decode(&found) != nil {
		return done, nil
	}
	list := make([]metal.FirmwareComponent, 0, len(found.Components))
	for _, c := range found.Components {
		list = append(list, metal.FirmwareComponent{
			NodeUUID: r.node.UUID, Component: c.Component, CurrentVersion: filled(c.CurrentVersion),
			Vendor: filled(c.Vendor), Model: filled(c.Model), SerialNumber: filled(c.SerialNumber),
		})
	}
	r.out.Firmware = &list
	return done, nil
}

func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func setBIOS(r *run, t task) (verdict, error) {
	var settings []map[string]any
	if err := t.Args.Decode(&settings); err != nil {
		return stay, errors.New("the BIOS settings are no list of objects with name and value")
	}
	list := make([]metal.BIOSSetting, 0, len(settings))
	for _, s := range settings {
		name, _ := s["name"].(string)
		value, given := s["value"]
		if name == "" || !given {
			return stay, errors.New("a BIOS setting has no name or no value")
		}
		text := fmt.Sprint(value)
		list = append(list, metal.BIOSSetting{NodeUUID: r.node.UUID, Name: name, Value: &text})
	}
	r.out.BIOS = &list
	return done, nil
}
