// Package schemathesis has Schemathesis make requests of the description of the
// API, right ones and wrong ones, and judge what Ferrule answers by the same
// description: no failure of the server, and no status, header or body that is
// not described.
package schemathesis
