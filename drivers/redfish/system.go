package redfish

import (
	"errors"
	"net/http"
	"strings"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// system reads the System that the target means: the one named, or the only
// one there is.
func (c *client) system() (document, error) {
	path := c.access.system
	if path == "" {
		path = c.findings.system
	}
	if path == "" {
		var err error
		if path, err = c.onlySystem(); err != nil {
			return document{}, err
		}
	}
	doc, err := c.get(path)
	var r *refusal
	if errors.As(err, &r) && r.status == http.StatusNotFound && c.access.system != "" {
		return document{}, c.noSuchSystem(path, err)
	}
	if err != nil {
		return document{}, err
	}
	if kind := typeOf(doc.fields); kind != "" && kind != "ComputerSystem" {
		return document{}, driver.Errorf(metal.CodeInvalidConfig, "redfish_system_id is wrong: %s at BMC %s: this is a %s, not a System", path, c.access.address, kind)
	}
	c.findings.system = path
	return doc, nil
}

// typeOf is the name in "#ComputerSystem.v1_20_0.ComputerSystem".
func typeOf(f fields) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(f.text("@odata.type"), "#"), ".")
	return name
}

func (c *client) onlySystem() (string, error) {
	paths, err := c.systems()
	if err != nil {
		return "", err
	}
	switch len(paths) {
	case 1:
		return paths[0], nil
	case 0:
		return "", driver.Errorf(metal.CodeBMCError, "BMC %s lists no System", c.access.address)
	}
	return "", driver.Errorf(metal.CodeInvalidConfig, "BMC %s has %d Systems; name one of them in redfish_system_id: %s", c.access.address, len(paths), strings.Join(paths, ", "))
}

func (c *client) systems() ([]string, error) {
	collection := root + "/Systems"
	if rootDoc, err := c.openRoot(); err != nil {
		return nil, err
	} else if link := rootDoc.link("Systems"); link != "" && checkPath(link) == nil {
		collection = link
	}
	doc, err := c.get(collection)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, member := range doc.links("Members") {
		if checkPath(member) == nil {
			paths = append(paths, strings.TrimRight(member, "/"))
		}
	}
	return paths, nil
}

func (c *client) noSuchSystem(path string, cause error) error {
	paths, err := c.systems()
	if err != nil {
		return cause
	}
	return driver.Errorf(metal.CodeInvalidConfig, "BMC %s has no System %s; redfish_system_id can be one of: %s", c.access.address, path, strings.Join(paths, ", "))
}

// managers are the paths of the System's managers: those it names, or the
// only one there is.
func (c *client) managers(system document) []string {
	if named := system.child("Links").links("ManagedBy"); len(named) > 0 {
		return named
	}
	all, err := c.get(root + "/Managers")
	if err != nil {
		return nil
	}
	if members := all.links("Members"); len(members) == 1 {
		return members
	}
	return nil
}

// readAll reads resources by path, leaving out those that the BMC does not show.
func (c *client) readAll(paths []string) ([]document, error) {
	var out []document
	for _, path := range paths {
		doc, err := c.get(path)
		switch {
		case err == nil:
			out = append(out, doc)
		case partOnly(err):
			c.log.Debug("a resource is left out", "path", path, "error", err)
		default:
			return nil, err
		}
	}
	return out, nil
}

// members reads a collection's resources.
func (c *client) members(path string) ([]document, error) {
	collection, err := c.get(path)
	if err != nil {
		return nil, err
	}
	return c.readAll(collection.links("Members"))
}

// linked reads the members of the collection behind a link; a resource without
// the link has none.
func (c *client) linked(doc document, name string) ([]document, error) {
	link := doc.link(name)
	if link == "" {
		return nil, nil
	}
	return c.members(link)
}

// partOnly reports whether an error is about one resource and not about the
// BMC: something that it lacks, does not show this account, or names by a path
// that is not followed. A BMC that is busy would show it later.
func partOnly(err error) bool {
	var r *refusal
	switch {
	case err == nil:
		return false
	case errors.As(err, &r):
		busy := r.status == http.StatusServiceUnavailable || r.status == http.StatusBadGateway || r.status == http.StatusGatewayTimeout || r.transient()
		return !busy && r.status != http.StatusUnauthorized && !r.is("PasswordChangeRequired")
	}
	code := driver.CodeOf(err)
	return code == metal.CodeBMCError || code == metal.CodeInvalidAddress
}

// action is the path and the document of an action of a resource.
func action(doc document, name string) (target string, details fields) {
	details = doc.child("Actions").child("#" + name)
	return details.text("target"), details
}
