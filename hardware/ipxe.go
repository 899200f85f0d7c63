package hardware

// ipxe loads iPXE by DHCP and TFTP, and the rest by HTTP.
var ipxe = networkBoot("ipxe", "ipxe_boot", "iscsi_volume_boot", "pxe_boot", "ramdisk_boot")
