package hardware

import (
	"strings"

	"ferrule/metal"
)

// Unsupported is the refusal of an interface that is switched off or that
// lacks what is asked of it (Ironic: UnsupportedDriverExtension, 400).
func Unsupported(n *metal.Node, what string) *metal.Error {
	return metal.Errorf(metal.Invalid, "Driver %s does not support %s (disabled or not implemented).", n.Driver, what)
}

// ValidateInterface checks what the node's implementation of t needs before it
// can work, as GET /v1/nodes/{node}/validate shows it. nil is valid.
func (c *Catalogue) ValidateInterface(n *metal.Node, t metal.InterfaceType, ports []metal.Port) error {
	name := n.Interface(t)
	if strings.HasPrefix(name, "no-") {
		return Unsupported(n, string(t))
	}
	switch t {
	case metal.PowerInterface, metal.ManagementInterface, metal.BIOSInterface, metal.FirmwareInterface, metal.RAIDInterface:
		if name == "redfish" {
			_, err := RequestFor(n, metal.PowerGet)
			return err
		}
	case metal.BootInterface:
		if name == "redfish-virtual-media" {
			if _, err := RequestFor(n, metal.PowerGet); err != nil {
				return err
			}
			_, err := c.RamdiskFor(n)
			return err
		}
	case metal.DeployInterface:
		if name == "direct" || name == "autodetect" {
			return c.validateDirect(n, ports)
		}
	case metal.InspectInterface:
		return c.validateInspect(n, name)
	case metal.RescueInterface:
		if name == "agent" {
			_, err := c.RescueRamdiskFor(n)
			return err
		}
	}
	return nil
}

func (c *Catalogue) validateInspect(n *metal.Node, name string) error {
	switch name {
	case "redfish":
		_, err := RequestFor(n, metal.InspectHardware)
		return err
	case "agent":
		if n.BootInterface == "fake" {
			if c.settings.RequireManagedBoot {
				return metal.Errorf(metal.Invalid, "The boot interface %s of node %s does not support managed inspection; choose another one, or set [inspector]require_managed_boot to false.",
					n.BootInterface, n.Label())
			}
			return nil
		}
		_, err := c.RamdiskFor(n)
		return err
	}
	return nil
}

// RamdiskFor is the ramdisk that the node boots for cleaning, deployment and
// inspection: its own, else the configured one. Kernel and ramdisk count only
// together (boot, section 1).
func (c *Catalogue) RamdiskFor(n *metal.Node) (Ramdisk, error) {
	return c.ramdiskFor(n, "deploy", c.settings.DeployKernel, c.settings.DeployRamdisk)
}

// RescueRamdiskFor is the ramdisk that the node boots for rescue.
func (c *Catalogue) RescueRamdiskFor(n *metal.Node) (Ramdisk, error) {
	return c.ramdiskFor(n, "rescue", c.settings.RescueKernel, c.settings.RescueRamdisk)
}

func (c *Catalogue) ramdiskFor(n *metal.Node, mode, kernel, initrd string) (Ramdisk, error) {
	info := n.DriverInfo
	r := Ramdisk{Bootloader: info.Text("bootloader")}
	if r.Bootloader == "" {
		r.Bootloader = c.settings.Bootloader
	}
	if iso := info.Text(mode + "_iso"); iso != "" {
		return Ramdisk{ISO: iso}, nil
	}
	if k, i := info.Text(mode+"_kernel"), info.Text(mode+"_ramdisk"); k != "" && i != "" {
		kernel, initrd = k, i
	}
	if kernel == "" || initrd == "" {
		return r, metal.Errorf(metal.Invalid, "Node %s has no ramdisk to boot: give %[2]s_kernel and %[2]s_ramdisk (or %[2]s_iso) in driver_info, or set them under [conductor].", n.Label(), mode)
	}
	r.Kernel, r.Initrd = kernel, initrd
	return r, nil
}

// Ramdisk is where the deploy ramdisk comes from: kernel and initrd, or a
// ready ISO.
type Ramdisk struct {
	Kernel, Initrd, Bootloader string
	ISO                        string
}

// validateDirect checks what the direct deploy interface needs: the boot
// interface, and an image with a checksum (conductor, section 12).
func (c *Catalogue) validateDirect(n *metal.Node, ports []metal.Port) error {
	if err := c.ValidateInterface(n, metal.BootInterface, ports); err != nil {
		return err
	}
	_, err := ImageOf(n)
	return err
}

// Image is what the direct deploy interface writes.
type Image struct {
	Source      string
	DiskFormat  string // "" where unknown
	Checksum    string
	OSHashAlgo  string
	OSHashValue string
}

// ImageOf reads the image from the node's instance_info.
func ImageOf(n *metal.Node) (Image, error) {
	info := n.InstanceInfo.Object()
	text := func(key string) string { s, _ := info[key].(string); return s }
	img := Image{
		Source: text("image_source"), DiskFormat: text("image_disk_format"), Checksum: text("image_checksum"),
		OSHashAlgo: text("image_os_hash_algo"), OSHashValue: text("image_os_hash_value"),
	}
	if img.Source == "" {
		return img, metal.Errorf(metal.Invalid, "Cannot validate image information for node %s because one or more parameters are missing from its instance_info. Missing are: ['image_source']", n.Label())
	}
	if !strings.HasPrefix(img.Source, "http://") && !strings.HasPrefix(img.Source, "https://") {
		return img, metal.Errorf(metal.Invalid, "The image_source %q of node %s is not an http or https URL, the only sort that can be written.", img.Source, n.Label())
	}
	if t := text("image_type"); t == "partition" || text("kernel") != "" && t == "" {
		return img, metal.Errorf(metal.Invalid, "Node %s asks for a partition image, and only whole-disk images can be written: leave out instance_info/kernel and set image_type to whole-disk.", n.Label())
	}
	if img.Checksum == "" && (img.OSHashAlgo == "" || img.OSHashValue == "") {
		return img, metal.Errorf(metal.Invalid, "Cannot validate image information for node %s: image_checksum, or image_os_hash_algo and image_os_hash_value together, must be given in its instance_info for an http image.", n.Label())
	}
	return img, nil
}

// BootDevices are the boot devices that the node's management interface takes.
func BootDevices(n *metal.Node) []string {
	switch n.ManagementInterface {
	case "redfish":
		return []string{"pxe", "disk", "cdrom", "bios", "uefihttp"}
	case "noop":
		return []string{"pxe", "disk"}
	default:
		return []string{"pxe"}
	}
}

// PowerTargets are the power targets that the node's power interface takes.
func PowerTargets(*metal.Node) []metal.PowerState {
	return []metal.PowerState{metal.PowerOn, metal.PowerOff, metal.Rebooting, metal.SoftRebooting, metal.SoftPowerOff}
}
