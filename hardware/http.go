package hardware

// httpBoot has the firmware load a boot loader by HTTP.
var httpBoot = networkBoot("http", "pxe_boot", "ramdisk_boot")
