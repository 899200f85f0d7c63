package metal

// Action is what an operation of AxisAction does: work on the hardware behind
// an answer that has been given already, which moves neither the provision
// state nor the power.
type Action string

// The actions.
const (
	ActionBootMode    Action = "boot mode"
	ActionSecureBoot  Action = "secure boot"
	ActionConsole     Action = "console"
	ActionAttachMedia Action = "attach media"
	ActionDetachMedia Action = "detach media"
	ActionVendor      Action = "vendor method"

	// ActionBootInstance leaves the ramdisk that a failed service left up.
	ActionBootInstance Action = "boot instance"
)

// ConsoleArgs is the argument of ActionConsole.
type ConsoleArgs struct {
	Enabled bool `json:"enabled"`
}

// AttachMediaArgs is the argument of ActionAttachMedia. DownloadSource is http
// (the BMC fetches the image itself) or local (the site agent serves it).
type AttachMediaArgs struct {
	Device         string `json:"device"`
	ImageURL       string `json:"imageUrl"`
	DownloadSource string `json:"downloadSource"`
}

// MediaDevices are the kinds of virtual media, by Ironic's names.
func MediaDevices() []string { return []string{"disk", "cdrom", "floppy"} }
