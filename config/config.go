package config

import "slices"

// Config is what a file, the environment and overrides say together. Each
// field is one honoured option of the catalogue, named by its tag; a test holds
// the two together.
type Config struct {
	Default           Default           `section:"DEFAULT"`
	API               API               `section:"api"`
	Conductor         Conductor         `section:"conductor"`
	Deploy            Deploy            `section:"deploy"`
	Agent             Agent             `section:"agent"`
	Inspector         Inspector         `section:"inspector"`
	InspectionRules   InspectionRules   `section:"inspection_rules"`
	Inventory         Inventory         `section:"inventory"`
	PXE               PXE               `section:"pxe"`
	Redfish           Redfish           `section:"redfish"`
	KeystoneAuthtoken KeystoneAuthtoken `section:"keystone_authtoken"`
	OsloMiddleware    OsloMiddleware    `section:"oslo_middleware"`
	OsloPolicy        OsloPolicy        `section:"oslo_policy"`
	Healthcheck       Healthcheck       `section:"healthcheck"`
	Database          Database          `section:"database"`

	Store     Store     `section:"store"`
	Link      Link      `section:"link"`
	SiteAgent SiteAgent `section:"siteagent"`
	Trust     Trust     `section:"trust"`

	// Files are the files that were read, those of folders too, later ones
	// stronger: what they name by a relative path may lie beside them.
	Files []string

	// Findings say what becomes of each option that was given.
	Findings []Finding

	set map[string]string // option key → where it was last given
}

// IsSet says whether the option was given anywhere, and not left at its
// default.
func (c *Config) IsSet(section, option string) bool {
	_, ok := c.set[section+"."+option]
	return ok
}

// InterfaceKinds are the interfaces of a node, in Ironic's order. For each
// there are an enabled_*_interfaces and a default_*_interface.
func InterfaceKinds() []string {
	return slices.Clone(interfaceKinds)
}

var interfaceKinds = []string{
	"bios", "boot", "console", "deploy", "firmware", "inspect", "management",
	"network", "power", "raid", "rescue", "storage", "vendor",
}
