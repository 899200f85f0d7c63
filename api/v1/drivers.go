package v1

import (
	"net/http"
	"slices"
	"strings"

	"ferrule/metal"
	"ferrule/openapi"
)

// driver is a hardware type with the hosts that serve it.
type driver struct {
	name  string
	hosts []string
}

// drivers are the hardware types that somebody alive serves, by name.
func (s *Service) drivers(c *call) ([]driver, error) {
	cs, err := s.liveConductors(c.Request().Context())
	if err != nil {
		return nil, err
	}
	var list []driver
	for _, h := range s.catalogue.HardwareTypes() {
		d := driver{name: h.Name}
		for _, conductor := range cs.alive {
			if slices.Contains(conductor.Drivers, h.Name) {
				d.hosts = append(d.hosts, conductor.Hostname)
			}
		}
		if len(d.hosts) > 0 {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(a, b driver) int { return strings.Compare(a.name, b.name) })
	return list, nil
}

func (s *Service) listDrivers(c *call) error {
	names, given := c.query.list("fields")
	if given && len(names) > 0 && c.query.flag("detail") {
		return badRequest("Can not specify ?detail=True and fields in the same request.")
	}
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	kind := c.query.text("type")
	if kind != nil && *kind != "classic" && *kind != "dynamic" {
		return badRequest("\"type\" filter must be one of \"classic\" or \"dynamic\", if specified.")
	}
	fields := driverView(c.version, c.query.flag("detail"))
	if given {
		selected, err := selectView(openapi.DriverFields, c.version, names)
		if err != nil {
			return asBadRequest(err)
		}
		if fields, err = fields.among(selected); err != nil {
			return err
		}
	}
	var list []driver
	if kind == nil || *kind == "dynamic" {
		var err error
		if list, err = s.drivers(c); err != nil {
			return err
		}
	}
	b := []byte(`{"drivers":[`)
	for i, d := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.appendDriver(b, c, d, fields)
	}
	return c.json(http.StatusOK, append(b, "]}"...))
}

func (s *Service) getDriver(c *call) error {
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	fields := driverView(c.version, true)
	if names, given := c.query.list("fields"); given {
		selected, err := selectView(openapi.DriverFields, c.version, names)
		if err != nil {
			return asBadRequest(err)
		}
		fields = selected
	}
	d, err := s.driver(c)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, s.appendDriver(nil, c, d, fields))
}

func (s *Service) getDriverProperties(c *call) error {
	d, err := s.driver(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, s.catalogue.DriverProperties(d.name))
}

// getLogicalDiskProperties is for hardware types whose RAID interface does
// something.
func (s *Service) getLogicalDiskProperties(c *call) error {
	d, err := s.driver(c)
	if err != nil {
		return err
	}
	row, err := s.catalogue.DefaultRow(d.name, metal.RAIDInterface)
	if err != nil || row.Absent {
		return notFound("Driver %s does not support raid (disabled or not implemented).", d.name)
	}
	return c.JSON(http.StatusOK, row.RAID.LogicalDisks)
}

func (s *Service) driver(c *call) (driver, error) {
	list, err := s.drivers(c)
	if err != nil {
		return driver{}, err
	}
	name := c.Param("driver")
	for _, d := range list {
		if d.name == name {
			return d, nil
		}
	}
	return driver{}, notFound("Could not find the following driver(s) or hardware type(s): %s.", name)
}

// driverView is the fields of a driver; from 1.30 on the detailed one has its
// interfaces.
func driverView(v openapi.Version, detail bool) view {
	if detail {
		return detailView(openapi.DriverFields, v)
	}
	return listView(openapi.DriverFields, v)
}

// among refuses fields that this view does not show.
func (shown view) among(selected view) (view, error) {
	for _, i := range selected {
		if !slices.Contains(shown, i) {
			return nil, badRequest("Field(s) %q are not valid", openapi.DriverFields.Fields[i].Name)
		}
	}
	return selected, nil
}

// asBadRequest is for routes whose schema knows only the version's own fields.
func asBadRequest(err error) error {
	f := *asFault(err)
	f.Status = http.StatusBadRequest
	return &f
}

func (s *Service) appendDriver(b []byte, c *call, d driver, fields view) []byte {
	b = append(b, '{')
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		name := openapi.DriverFields.Fields[f].Name
		b = appendKey(b, name)
		switch name {
		case "name":
			b = appendString(b, d.name)
		case "hosts":
			b = appendStrings(b, d.hosts)
		case "type":
			b = appendString(b, "dynamic")
		case "links":
			b = appendLinks(b, c.base, "drivers", d.name)
		case "properties":
			b = appendLinks(b, c.base, "drivers", d.name, "properties")
		default:
			b = s.appendDriverInterface(b, d.name, name)
		}
	}
	return append(b, '}')
}

func (s *Service) appendDriverInterface(b []byte, hardware, field string) []byte {
	if kind, ok := strings.CutPrefix(field, "default_"); ok {
		name, err := s.catalogue.DefaultInterface(hardware, metal.InterfaceType(strings.TrimSuffix(kind, "_interface")))
		if err != nil {
			return append(b, "null"...)
		}
		return appendText(b, name)
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(field, "enabled_"), "_interfaces")
	return appendStrings(b, s.catalogue.EnabledInterfaces(hardware, metal.InterfaceType(kind)))
}
