// Package env gives tests the outside world that they run against: a throw-away
// PostgreSQL, and virtual environments of Python with the real Ironic, its
// clients, emulated BMCs and the real ramdisk agent. What it needs of Debian,
// setup.sh installs.
//
// Nothing it starts outlives the test process, however that ends. It imports
// only the standard library, and nothing of Ferrule, so that any package's
// tests may use it.
package env
