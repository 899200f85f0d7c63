package redfish

import (
	"context"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

const secureBootEnable = "SecureBootEnable"

// GetSecureBoot reads whether secure boot is set for the next boot.
func (d *Driver) GetSecureBoot(ctx context.Context, t driver.Target) (metal.SecureBootArgs, error) {
	return call(ctx, d, t, func(c *client) (metal.SecureBootArgs, error) {
		doc, err := c.secureBoot()
		if err != nil {
			return metal.SecureBootArgs{}, err
		}
		on, _ := doc.flag(secureBootEnable)
		return metal.SecureBootArgs{Enabled: on}, nil
	})
}

// SetSecureBoot sets secure boot for the next boot.
func (d *Driver) SetSecureBoot(ctx context.Context, t driver.Target, a metal.SecureBootArgs) (metal.SecureBootArgs, error) {
	return call(ctx, d, t, func(c *client) (metal.SecureBootArgs, error) {
		doc, err := c.secureBoot()
		if err != nil {
			return metal.SecureBootArgs{}, err
		}
		if on, _ := doc.flag(secureBootEnable); on == a.Enabled {
			return a, nil
		}
		return a, c.patch(doc, map[string]any{secureBootEnable: a.Enabled})
	})
}

func (c *client) secureBoot() (document, error) {
	system, err := c.system()
	if err != nil {
		return document{}, err
	}
	link := system.link("SecureBoot")
	if link == "" {
		return document{}, driver.Errorf(metal.CodeUnsupported, "BMC %s: %s has no SecureBoot resource", c.access.address, system.path)
	}
	doc, err := c.get(link)
	if err == nil && !doc.has(secureBootEnable) {
		err = driver.Errorf(metal.CodeUnsupported, "BMC %s: %s shows no %s", c.access.address, link, secureBootEnable)
	}
	return doc, err
}
