// Package config reads Ferrule's one configuration file, which is Ironic's own:
// oslo.config's INI with Ironic's sections, option names and defaults, then the
// environment in oslo.config's form (OS_SECTION__OPTION), then overrides given
// on the command line (section.option=value); the later wins.
//
// It owns the catalogue of every option that Ironic has (options.tsv) with what
// Ferrule makes of it, and the typed result, [Config]. It is a leaf: anything
// may import it, and it imports only the standard library.
package config
