// Package suites holds Ferrule to the functional tests that clients ship with
// themselves: those of openstacksdk and of python-ironicclient, as published.
// recorded/ is how each test ends on real Ironic, written by go test -update,
// and reasons.tsv says why some fail there; each of the others must pass on
// Ferrule.
package suites
