package hardware

// pxe loads all by DHCP and TFTP.
var pxe = networkBoot("pxe", "pxe_boot", "ramdisk_boot")
