// Package policy decides who may do what: it reads rules in the language of
// oslo.policy, from the built-in defaults and from an operator's files, and
// holds them against a caller's credentials and what the call is about.
//
// The language is oslo.policy's to the letter, Python's conversion of values to
// text included, because files written for Ironic are brought along. One thing
// is left out: http: and https: checks, which ask another server, are refused
// when a file is read. The package knows nothing of HTTP and imports nothing of
// Ferrule.
package policy
