// Package hardware is the catalogue: which hardware types there are, which
// implementations each takes of an interface, and what each implementation is.
// It owns every name that a node's *_interface field may have, and the
// vocabulary of the tasks that plans are made of. It is pure: it imports metal
// and the standard library, and has no clock and no I/O.
//
// An implementation is a value, a row (Interface), in a file of its own. The row
// says its driver_info keys, what it needs of its driver and of the agent, how a
// request is made, its validation, its steps, and the pieces of plan that the
// conductor's runner takes from it. A hardware type (Type) is a row that lists
// such rows. A node with the rows of its interfaces is a Machine; whoever wants
// to know something about a node's hardware asks that. No other package compares
// a name of an implementation with anything.
//
// To add an implementation, write a file with its row, and name the row in the
// hardware types that take it (types.go). What it does at the site is the work
// of a driver under drivers/.
package hardware
