// Package warm holds the Python that keeps the openstack client loaded between
// calls. It imports only the standard library.
package warm

import _ "embed"

// Openstack is a program for the Python of env.Clients, and a module that
// others may import: its fork is a call of the client.
//
//go:embed osc.py
var Openstack string
