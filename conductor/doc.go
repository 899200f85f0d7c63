// Package conductor runs the state machine: a job takes a node's inbox, hands
// each event to the pure runner, and writes what comes of it in one
// transaction. Between two events nothing waits for a node but its rows.
//
// It also keeps the periodic work (its own sign of life, the leases of the
// power watch, tidying up), and asks an agent on behalf of a caller that waits.
//
// It must not import api, drivers or siteagent: hardware is reached by commands
// alone.
package conductor
