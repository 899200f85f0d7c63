// Package hardware is the catalogue: which hardware types there are, which
// implementations each takes of an interface, and what each implementation is.
// It owns every name that a node's *_interface field may have. It is pure: it
// imports metal and the standard library, and has no clock and no I/O.
package hardware
