// Package kill shows that Ferrule loses nothing and does nothing twice when its
// processes are killed, at each named failpoint and at random instants. The
// machines are a lab in a process of its own, which outlives every kill and
// counts what its BMCs are asked for; the client is one that tries again, as
// any good one does. Tests are all it holds.
package kill
