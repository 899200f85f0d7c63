package hardware

import "ferrule/metal"

// ramdiskProperties are the driver_info keys of what boots a ramdisk.
var ramdiskProperties = []Property{
	{Key: "deploy_kernel", Help: "URL of the kernel that the deploy ramdisk is booted with."},
	{Key: "deploy_ramdisk", Help: "URL of the deploy ramdisk."},
	{Key: "deploy_iso", Help: "URL of a ready ISO to use in place of kernel and ramdisk."},
	{Key: "rescue_kernel", Help: "URL of the kernel that the rescue ramdisk is booted with."},
	{Key: "rescue_ramdisk", Help: "URL of the rescue ramdisk."},
	{Key: "rescue_iso", Help: "URL of a ready ISO to use in place of the two."},
	{Key: "bootloader", Help: "URL of an EFI system partition image for a bootable ISO."},
	{Key: "kernel_append_params", Help: "Further words for the ramdisk's kernel line; %default% stands for the configured ones."},
}

// Ramdisk is where a ramdisk comes from: kernel and initrd, or a ready ISO.
type Ramdisk struct {
	Kernel, Initrd, Bootloader string
	ISO                        string
}

// DeployRamdisk is the ramdisk that the node boots for cleaning, deployment and
// inspection: its own, else the configured one. Kernel and ramdisk count only
// together (boot, section 1).
func (m Machine) DeployRamdisk() (Ramdisk, error) {
	return m.ramdisk("deploy", m.settings.DeployKernel, m.settings.DeployRamdisk)
}

// RescueRamdisk is the ramdisk that the node boots for rescue.
func (m Machine) RescueRamdisk() (Ramdisk, error) {
	return m.ramdisk("rescue", m.settings.RescueKernel, m.settings.RescueRamdisk)
}

func (m Machine) ramdisk(mode, kernel, initrd string) (Ramdisk, error) {
	info := m.Node.DriverInfo
	r := Ramdisk{Bootloader: info.Text("bootloader")}
	if r.Bootloader == "" {
		r.Bootloader = m.settings.Bootloader
	}
	if iso := info.Text(mode + "_iso"); iso != "" {
		return Ramdisk{ISO: iso}, nil
	}
	if k, i := info.Text(mode+"_kernel"), info.Text(mode+"_ramdisk"); k != "" && i != "" {
		kernel, initrd = k, i
	}
	if kernel == "" || initrd == "" {
		return r, metal.Errorf(metal.Invalid, "Node %s has no ramdisk to boot: give %[2]s_kernel and %[2]s_ramdisk (or %[2]s_iso) in driver_info, or set them under [conductor].", m.Node.Label(), mode)
	}
	r.Kernel, r.Initrd = kernel, initrd
	return r, nil
}
