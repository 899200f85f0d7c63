// Package gophercloud runs gophercloud's own acceptance tests of bare metal, as
// they are released, on Ferrule. Metal3 and Terraform are built on that client.
// recorded/ is how each test ends on real Ironic, written by go test -update,
// and how it must end on Ferrule.
package gophercloud
