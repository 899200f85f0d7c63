// Package v1 speaks the Bare Metal API, microversions 1.1 to the newest, over
// echo: negotiation, routes, validation, serialisation and errors as clients of
// Ironic know them. It reads and writes through store, and reaches hardware
// only by rows (an operation, a command); it imports neither drivers nor
// conductor.
package v1
