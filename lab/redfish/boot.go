package redfish

import (
	"net/http"
	"slices"

	"ferrule/lab/machine"
)

// shownBoot is the override as the system resource shows it: where changes go
// through the settings resource, the one before the last reset.
func (b *BMC) shownBoot(s *System) machine.Boot {
	if !b.cfg.Quirks.BootSettings {
		return s.Machine.Boot()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.systems[s.ID].boot
}

// applyPending makes the system resource show what was set before a reset.
func (b *BMC) applyPending(s *System) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.systems[s.ID]
	state.boot = s.Machine.Boot()
	for name, value := range state.pendingBios {
		state.bios[name] = value
	}
	state.pendingBios = nil
}

func bootTargets() []string {
	var targets []string
	for _, d := range machine.Devices() {
		targets = append(targets, string(d))
	}
	return targets
}

func (b *BMC) bootDoc(boot machine.Boot) doc {
	d := doc{
		"BootSourceOverrideEnabled":                         string(boot.Enabled),
		"BootSourceOverrideEnabled@Redfish.AllowableValues": []string{"Disabled", "Once", "Continuous"},
		"BootSourceOverrideTarget":                          string(boot.Target),
		"BootSourceOverrideTarget@Redfish.AllowableValues":  bootTargets(),
		"BootSourceOverrideMode":                            string(boot.Mode),
		"BootSourceOverrideMode@Redfish.AllowableValues":    []string{"UEFI", "Legacy"},
		"UefiTargetBootSourceOverride":                      nil,
		"HttpBootUri":                                       nil,
	}
	if boot.HTTPURI != "" {
		d["HttpBootUri"] = boot.HTTPURI
	}
	if b.cfg.Quirks.NoBootMode {
		delete(d, "BootSourceOverrideMode")
		delete(d, "BootSourceOverrideMode@Redfish.AllowableValues")
	}
	return d
}

func patchSystem(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	for property := range r.body {
		switch property {
		case "Boot":
			if b.cfg.Quirks.BootSettings {
				return refuse(http.StatusBadRequest, "Base.1.12.PropertyNotWritable", "The property Boot is read only.")
			}
		case "AssetTag":
		case "IndicatorLED":
			return b.setIndicator(s.ID, r.body)
		default:
			return refuse(http.StatusBadRequest, "Base.1.12.PropertyUnknown", "The property %s is unknown.", property)
		}
	}
	return b.patchBoot(s, r.body)
}

func showBootSettings(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem", "Id": "Settings",
		"Name": "Pending settings", "Boot": b.bootDoc(s.Machine.Boot()),
	})
}

func patchBootSettings(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	return b.patchBoot(s, r.body)
}

func (b *BMC) patchBoot(s *System, change doc) reply {
	boot, isObject := change["Boot"].(doc)
	if !isObject {
		if _, given := change["Boot"]; given || len(change) == 0 {
			return refuse(http.StatusBadRequest, "Base.1.12.PropertyValueTypeError", "The property Boot is no object.")
		}
		return noContent()
	}
	if b.inPost(s) {
		return refuse(http.StatusBadRequest, "iLO.2.14.UnableToModifyDuringSystemPOST",
			"The value for the property cannot be changed while the computer system BIOS is in POST.")
	}
	wanted := s.Machine.Boot()
	for property, value := range boot {
		if refusal, good := b.setBootProperty(&wanted, property, value); !good {
			return refusal
		}
	}
	if b.cfg.Quirks.ForgetsBoot {
		return ok(nil)
	}
	if wanted.Enabled == machine.Disabled {
		wanted.Target = machine.DeviceNone
	}
	return b.perform(func() reply {
		s.Machine.SetBoot(wanted)
		return noContent()
	})
}

// inPost counts a refusal while the machine is in POST.
func (b *BMC) inPost(s *System) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := b.systems[s.ID]
	if power := s.Machine.Posts(); power != state.refusedPost {
		state.refusedPost, state.refusals = power, 0
	}
	if s.Machine.Power() == machine.Off || state.refusals >= b.cfg.Quirks.PostRefusals {
		return false
	}
	state.refusals++
	return true
}

func (b *BMC) setBootProperty(boot *machine.Boot, property string, value any) (reply, bool) {
	text, isText := value.(string)
	good := isText
	switch property {
	case "BootSourceOverrideTarget":
		good = good && slices.Contains(machine.Devices(), machine.Device(text))
		boot.Target = machine.Device(text)
	case "BootSourceOverrideEnabled":
		good = good && slices.Contains([]machine.Enabled{machine.Disabled, machine.Once, machine.Continuous}, machine.Enabled(text))
		boot.Enabled = machine.Enabled(text)
	case "BootSourceOverrideMode":
		if b.cfg.Quirks.NoBootMode {
			return refuse(http.StatusBadRequest, "Base.1.12.PropertyUnknown", "The property %s is unknown.", property), false
		}
		good = good && (text == string(machine.UEFI) || text == string(machine.Legacy))
		boot.Mode = machine.Mode(text)
	case "HttpBootUri", "UefiTargetBootSourceOverride":
		good = isText || value == nil
		if property == "HttpBootUri" {
			boot.HTTPURI = text
		}
	default:
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyUnknown", "The property %s is unknown.", property), false
	}
	if !good {
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyValueNotInList", "The value of %s is not accepted.", property), false
	}
	return reply{}, true
}

func showSecureBoot(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	enabled := b.systems[s.ID].secureBoot
	b.mu.Unlock()
	current := "Disabled"
	if enabled {
		current = "Enabled"
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#SecureBoot.v1_1_0.SecureBoot", "Id": "SecureBoot", "Name": "Secure Boot",
		"SecureBootEnable": enabled, "SecureBootCurrentBoot": current, "SecureBootMode": "DeployedMode",
	})
}

func patchSecureBoot(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	enable, given := r.body["SecureBootEnable"].(bool)
	if !given || len(r.body) != 1 {
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyMissing", "SecureBootEnable is the one property to change.")
	}
	return b.perform(func() reply {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.systems[s.ID].secureBoot = enable
		return noContent()
	})
}
