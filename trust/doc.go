// Package trust decides who may say what to whom: the deployment key and what
// is sealed under it, the certificate authority, join codes, the signatures on
// commands and results, and the release of secrets to site agents.
//
// It is the only package that knows JOSE. It keeps nothing itself: what must
// last goes through the narrow interfaces that it defines, met by the store.
// It imports metal and libraries of cryptography, never the store, the link or
// anything that serves HTTP.
package trust
