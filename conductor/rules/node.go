package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"ferrule/metal"
	"ferrule/metal/pytext"
)

// nodeReads are the attributes of a node that a text may name.
var nodeReads = makeNodeReads()

func makeNodeReads() map[string]func(n *metal.Node) any {
	reads := map[string]func(n *metal.Node) any{
		"id":                     func(n *metal.Node) any { return json.Number(fmt.Sprint(n.ID)) },
		"uuid":                   func(n *metal.Node) any { return n.UUID },
		"driver":                 func(n *metal.Node) any { return n.Driver },
		"conductor_group":        func(n *metal.Node) any { return n.ConductorGroup },
		"provision_state":        func(n *metal.Node) any { return string(n.ProvisionState) },
		"target_provision_state": func(n *metal.Node) any { return orNone(string(n.TargetProvisionState)) },
		"maintenance":            func(n *metal.Node) any { return n.Maintenance },
		"protected":              func(n *metal.Node) any { return n.Protected },
		"retired":                func(n *metal.Node) any { return n.Retired },
		"console_enabled":        func(n *metal.Node) any { return n.ConsoleEnabled },
		"disable_power_off":      func(n *metal.Node) any { return n.DisablePowerOff },
		"automated_clean":        func(n *metal.Node) any { return flagOrNone(n.AutomatedClean) },
		"secure_boot":            func(n *metal.Node) any { return flagOrNone(n.SecureBoot) },
		"created_at":             func(n *metal.Node) any { return n.CreatedAt },
		"updated_at":             func(n *metal.Node) any { return timeOrNone(n.UpdatedAt) },
		"provision_updated_at":   func(n *metal.Node) any { return timeOrNone(n.ProvisionUpdatedAt) },
		"inspection_started_at":  func(n *metal.Node) any { return timeOrNone(n.InspectionStartedAt) },
		"inspection_finished_at": func(n *metal.Node) any { return timeOrNone(n.InspectionFinishedAt) },
	}
	for name, at := range map[string]func(n *metal.Node) **string{
		"power_state":        func(n *metal.Node) **string { return &n.PowerState },
		"target_power_state": func(n *metal.Node) **string { return &n.TargetPowerState },
		"last_error":         func(n *metal.Node) **string { return &n.LastError },
		"reservation":        func(n *metal.Node) **string { return &n.Reservation },
		"fault":              func(n *metal.Node) **string { return &n.Fault },
		"health":             func(n *metal.Node) **string { return &n.Health },
		"instance_uuid":      func(n *metal.Node) **string { return &n.InstanceUUID },
		"parent_node":        func(n *metal.Node) **string { return &n.ParentNode },
	} {
		reads[name] = func(n *metal.Node) any { return textOrNone(*at(n)) }
	}
	for name, at := range nodeTexts {
		reads[name] = func(n *metal.Node) any { return textOrNone(*at(n)) }
	}
	for name, at := range nodeObjects {
		reads[name] = func(n *metal.Node) any { return at(n).Object() }
	}
	for name, at := range map[string]func(n *metal.Node) *metal.JSON{
		"driver_internal_info": func(n *metal.Node) *metal.JSON { return &n.DriverInternalInfo },
		"clean_step":           func(n *metal.Node) *metal.JSON { return &n.CleanStep },
		"deploy_step":          func(n *metal.Node) *metal.JSON { return &n.DeployStep },
		"service_step":         func(n *metal.Node) *metal.JSON { return &n.ServiceStep },
	} {
		reads[name] = func(n *metal.Node) any { return at(n).Object() }
	}
	for _, name := range []string{"driver_info", "instance_info"} {
		reads[name] = func(n *metal.Node) any { return hidden(nodeObjects[name](n).Object(), false) }
	}
	reads["driver_internal_info"] = func(n *metal.Node) any {
		shown, _ := metal.ReplaceRefs(n.DriverInternalInfo.Object(), func(string) (any, error) { return metal.Masked, nil })
		return shown
	}
	for _, t := range metal.InterfaceTypes() {
		reads[string(t)+"_interface"] = func(n *metal.Node) any { return n.Interface(t) }
	}
	return reads
}

// hidden has asterisks in place of credentials: of those that are sealed, whose
// refs nobody sees, and of those that a rule has just set, which are sealed when
// all rules are done.
func hidden(v any, secret bool) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = hidden(item, secret || metal.IsDriverInfoSecret(key))
		}
		return v
	case []any:
		for i, item := range v {
			v[i] = hidden(item, secret)
		}
		return v
	case string:
		if metal.IsSecretRef(v) {
			return metal.Masked // written back, it keeps the secret
		}
		if v == "" {
			return v
		}
	case nil:
		return nil
	}
	if secret {
		return asterisks
	}
	return v
}

// What a rule may write. The rest is the state machine's, or is in use while the
// node is inspected.
var (
	nodeTexts = map[string]func(n *metal.Node) **string{
		"name":               func(n *metal.Node) **string { return &n.Name },
		"instance_name":      func(n *metal.Node) **string { return &n.InstanceName },
		"resource_class":     func(n *metal.Node) **string { return &n.ResourceClass },
		"owner":              func(n *metal.Node) **string { return &n.Owner },
		"lessee":             func(n *metal.Node) **string { return &n.Lessee },
		"shard":              func(n *metal.Node) **string { return &n.Shard },
		"description":        func(n *metal.Node) **string { return &n.Description },
		"maintenance_reason": func(n *metal.Node) **string { return &n.MaintenanceReason },
		"protected_reason":   func(n *metal.Node) **string { return &n.ProtectedReason },
		"retired_reason":     func(n *metal.Node) **string { return &n.RetiredReason },
		"boot_mode":          func(n *metal.Node) **string { return &n.BootMode },
	}
	nodeFlags = map[string]func(n *metal.Node) *bool{
		"maintenance":       func(n *metal.Node) *bool { return &n.Maintenance },
		"protected":         func(n *metal.Node) *bool { return &n.Protected },
		"retired":           func(n *metal.Node) *bool { return &n.Retired },
		"disable_power_off": func(n *metal.Node) *bool { return &n.DisablePowerOff },
	}
	nodeOptionalFlags = map[string]func(n *metal.Node) **bool{
		"automated_clean": func(n *metal.Node) **bool { return &n.AutomatedClean },
		"secure_boot":     func(n *metal.Node) **bool { return &n.SecureBoot },
	}
	nodeObjects = map[string]func(n *metal.Node) *metal.JSON{
		"driver_info":        func(n *metal.Node) *metal.JSON { return &n.DriverInfo },
		"properties":         func(n *metal.Node) *metal.JSON { return &n.Properties },
		"extra":              func(n *metal.Node) *metal.JSON { return &n.Extra },
		"instance_info":      func(n *metal.Node) *metal.JSON { return &n.InstanceInfo },
		"network_data":       func(n *metal.Node) *metal.JSON { return &n.NetworkData },
		"raid_config":        func(n *metal.Node) *metal.JSON { return &n.RAIDConfig },
		"target_raid_config": func(n *metal.Node) *metal.JSON { return &n.TargetRAIDConfig },
	}
	nodeInterfaces = map[string]metal.InterfaceType{
		"bios_interface": metal.BIOSInterface, "console_interface": metal.ConsoleInterface,
		"deploy_interface": metal.DeployInterface, "firmware_interface": metal.FirmwareInterface,
		"raid_interface": metal.RAIDInterface, "rescue_interface": metal.RescueInterface,
		"storage_interface": metal.StorageInterface, "vendor_interface": metal.VendorInterface,
	}
)

// longest is how long a text may be; that of others is 255.
var longest = map[string]int{"resource_class": 80, "description": 4096, "boot_mode": 16, "maintenance_reason": 1 << 16}

var logicalName = regexp.MustCompile(`^[A-Za-z0-9\-._~]{1,255}$`)

// setNode sets an attribute as a whole.
func (r *run) setNode(name string, value any) error {
	if at, ok := nodeTexts[name]; ok {
		text, err := textFor(name, value, longest[name])
		if err == nil && name == "name" && text != nil {
			err = r.checkName(*text)
		}
		if err == nil {
			*at(r.Node) = text
		}
		return err
	}
	if at, ok := nodeFlags[name]; ok {
		*at(r.Node) = truthy(value) // Ironic's fields take any text for true
		return nil
	}
	if at, ok := nodeOptionalFlags[name]; ok {
		*at(r.Node) = nil
		if value != nil {
			flag := truthy(value)
			*at(r.Node) = &flag
		}
		return nil
	}
	if at, ok := nodeObjects[name]; ok {
		object, err := objectFor(name, value)
		if err == nil {
			*at(r.Node) = metal.ToJSON(object)
		}
		return err
	}
	if t, ok := nodeInterfaces[name]; ok {
		text, _ := value.(string)
		if err := r.Catalogue.CheckInterface(r.Node.Driver, t, text); err != nil {
			return err
		}
		*r.Node.InterfaceField(t) = text
		return nil
	}
	return notToWrite(name)
}

func notToWrite(name string) error {
	return fmt.Errorf("%s is no attribute that an inspection rule may change", name)
}

func (r *run) checkName(name string) error {
	switch {
	case !logicalName.MatchString(name):
		return fmt.Errorf("%q is no name for a node: it may have letters, digits, and - . _ ~", name)
	case r.Taken("node name", name):
		return fmt.Errorf("A node with name %s already exists.", name)
	}
	return nil
}

// textFor is a value as a text field takes it (oslo.versionedobjects: String).
func textFor(name string, value any, most int) (*string, error) {
	switch value.(type) {
	case nil:
		return nil, nil
	case []any, map[string]any:
		return nil, fmt.Errorf("A string is required in field %s, not a %s", name, typeName(value))
	}
	text := pytext.Str(value)
	if most == 0 {
		most = 255
	}
	if len([]rune(text)) > most {
		return nil, fmt.Errorf("%s is longer than %d characters", name, most)
	}
	return &text, nil
}

func objectFor(name string, value any) (map[string]any, error) {
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	}
	if isNumber(value) {
		return nil, fmt.Errorf("'%s' object is not iterable", typeName(value))
	}
	return nil, fmt.Errorf("%s is an object, not a %s", name, typeName(value))
}

func orNone(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func textOrNone(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

func flagOrNone(b *bool) any {
	if b == nil {
		return nil
	}
	return *b
}

func timeOrNone(t *time.Time) any {
	if t == nil {
		return nil
	}
	return *t
}
