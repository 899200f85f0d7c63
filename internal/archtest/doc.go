// Package archtest holds the tests of the code's own shape: which package may
// import which, and what is linked into the site agent's binary.
package archtest
