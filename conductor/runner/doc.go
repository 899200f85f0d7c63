// Package runner is the state machine's runner, as a pure function: what a
// node is, what it is doing and what has happened go in; what changes and what
// is to be done come out. It has no clock, no I/O and no goroutine, and
// imports only metal, hardware and conductor/rules.
//
// An operation's plan is a list of tasks. The runner takes them one by one: a
// task ends at once, or waits for the result of a command or for a call of the
// ramdisk. A task that fails replaces the list by the clean-up of its verb.
package runner
