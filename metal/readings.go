package metal

// Results of the reads of a machine's parts: sensors, indicators, firmware,
// and of the rotation of a BMC's password.

// SensorsResult is the result of management.getSensors, in the shape of
// Ironic's sensor notifications: type ("Fan", "Temperature", "Power") → sensor
// → field → value.
type SensorsResult struct {
	Sensors map[string]map[string]map[string]any `json:"sensors"`
}

// IndicatorsResult is the result of management.getIndicators: component
// (chassis, system, disk) → indicator → what it can show and shows now.
type IndicatorsResult struct {
	Indicators map[string]map[string]Indicator `json:"indicators"`
}

// Indicator is one LED.
type Indicator struct {
	ReadOnly bool     `json:"readonly"`
	States   []string `json:"states"`
	State    string   `json:"state"` // ON, OFF, BLINKING, UNKNOWN
}

// SetIndicatorArgs is the argument of management.setIndicator.
type SetIndicatorArgs struct {
	Component string `json:"component"`
	Indicator string `json:"indicator"`
	State     string `json:"state"`
}

// FirmwareComponentsResult is the result of firmware.components.
type FirmwareComponentsResult struct {
	Components []FirmwareComponentInfo `json:"components"`
}

// FirmwareComponentInfo is one part that has firmware, named as Ironic names
// it: bios, bmc, nic:<id>; others keep the BMC's own id.
type FirmwareComponentInfo struct {
	Component      string `json:"component"`
	CurrentVersion string `json:"currentVersion"`
	Vendor         string `json:"vendor,omitempty"`
	Model          string `json:"model,omitempty"`
	SerialNumber   string `json:"serialNumber,omitempty"`
}

// RotateCredentialArgs is the argument of management.rotateCredential. The new
// password is a secret parameter, see NewCredentialsParam; the request's
// credentialsRef is the current one.
type RotateCredentialArgs struct {
	NewCredentials string `json:"newCredentials"`
}

// RotateCredentialResult is what the agent attests after a rotation.
type RotateCredentialResult struct {
	Verified   bool `json:"verified"`   // a fresh login with the new password worked
	OldRefused bool `json:"oldRefused"` // and the old one is refused
}
