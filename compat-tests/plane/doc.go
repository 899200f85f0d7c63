// Package plane runs the program ferrule for tests, as its users do: as a
// process of its own, reached over HTTP, killed and started again. It knows
// nothing of how Ferrule is made and imports only the standard library, so that
// any package's tests may use it. It must not be imported by anything but tests.
package plane
