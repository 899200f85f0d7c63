package hardware

// httpIPXE has the firmware load iPXE by HTTP.
var httpIPXE = networkBoot("http-ipxe", "ipxe_boot", "iscsi_volume_boot", "pxe_boot", "ramdisk_boot")
