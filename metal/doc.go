// Package metal is the domain of bare metal as Ironic knows it: nodes, ports,
// the provision-state table, verbs, steps, operations, hardware types and
// error codes. It is pure: no I/O, no clock, no global mutable state, and it
// imports only the standard library.
package metal
