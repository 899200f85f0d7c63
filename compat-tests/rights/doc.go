// Package rights holds what anyone may do against what real Ironic lets them:
// the same requests by the same callers, with the same Keystone, or with none.
// requests.tsv is the table of requests; recorded/ is what real Ironic said to
// each caller, written by go test -update, and what Ferrule must say.
package rights
