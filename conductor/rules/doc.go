// Package rules carries out inspection rules as Ironic does (ironic.common.
// inspection_rules), as a pure function: what an inspection found, the node and
// the rules go in; the node, its ports and the plugin data are changed, and what
// is to be logged comes out. It reads no clock and does no I/O: the end of the
// context that it is given cuts it short.
package rules
