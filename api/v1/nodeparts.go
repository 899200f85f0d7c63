package v1

import (
	"net/http"
	"slices"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// biosKind is the resource of BIOS settings (Ironic: controllers/v1/bios).
var biosKind = newResource(resource[metal.BIOSSetting]{
	registry: openapi.BIOSSettingFields, noun: "setting", key: "bios",
	uuid: func(b *metal.BIOSSetting) string { return b.Name },
	fields: map[string]property[metal.BIOSSetting]{
		"name":           wordProperty("name", func(b *metal.BIOSSetting) *string { return &b.Name }),
		"value":          textProperty("value", 0, func(b *metal.BIOSSetting) **string { return &b.Value }),
		"attribute_type": textProperty("attribute_type", 0, func(b *metal.BIOSSetting) **string { return &b.AttributeType }),
		"allowable_values": {show: func(b []byte, s *metal.BIOSSetting, _ *encoding) []byte {
			return appendStrings(b, s.AllowableValues)
		}},
		"lower_bound":    numberProperty(func(b *metal.BIOSSetting) *int64 { return b.LowerBound }),
		"upper_bound":    numberProperty(func(b *metal.BIOSSetting) *int64 { return b.UpperBound }),
		"min_length":     numberProperty(func(b *metal.BIOSSetting) *int64 { return b.MinLength }),
		"max_length":     numberProperty(func(b *metal.BIOSSetting) *int64 { return b.MaxLength }),
		"read_only":      optionalFlagProperty(func(b *metal.BIOSSetting) *bool { return b.ReadOnly }),
		"reset_required": optionalFlagProperty(func(b *metal.BIOSSetting) *bool { return b.ResetRequired }),
		"unique":         optionalFlagProperty(func(b *metal.BIOSSetting) *bool { return b.Unique }),
		"created_at":     timeProperty(func(b *metal.BIOSSetting) *time.Time { return &b.CreatedAt }),
		"updated_at":     optionalTimeProperty(func(b *metal.BIOSSetting) **time.Time { return &b.UpdatedAt }),
		"links": {show: func(b []byte, s *metal.BIOSSetting, e *encoding) []byte {
			return appendLinks(b, e.base, "nodes", s.NodeUUID, "bios", s.Name)
		}},
	},
})

// firmwareKind is the resource of firmware components (Ironic:
// controllers/v1/firmware).
var firmwareKind = newResource(resource[metal.FirmwareComponent]{
	registry: openapi.FirmwareComponentFields, noun: "component", key: "firmware",
	uuid: func(f *metal.FirmwareComponent) string { return f.Component },
	fields: map[string]property[metal.FirmwareComponent]{
		"component":            wordProperty("component", func(f *metal.FirmwareComponent) *string { return &f.Component }),
		"initial_version":      textProperty("initial_version", 0, func(f *metal.FirmwareComponent) **string { return &f.InitialVersion }),
		"current_version":      textProperty("current_version", 0, func(f *metal.FirmwareComponent) **string { return &f.CurrentVersion }),
		"last_version_flashed": textProperty("last_version_flashed", 0, func(f *metal.FirmwareComponent) **string { return &f.LastVersionFlashed }),
		"vendor":               textProperty("vendor", 0, func(f *metal.FirmwareComponent) **string { return &f.Vendor }),
		"model":                textProperty("model", 0, func(f *metal.FirmwareComponent) **string { return &f.Model }),
		"serial_number":        textProperty("serial_number", 0, func(f *metal.FirmwareComponent) **string { return &f.SerialNumber }),
		"created_at":           timeProperty(func(f *metal.FirmwareComponent) *time.Time { return &f.CreatedAt }),
		"updated_at":           optionalTimeProperty(func(f *metal.FirmwareComponent) **time.Time { return &f.UpdatedAt }),
	},
})

func numberProperty[T any](at func(v *T) *int64) property[T] {
	return property[T]{show: func(b []byte, v *T, _ *encoding) []byte { return appendNullableInt(b, at(v)) }}
}

func optionalFlagProperty[T any](at func(v *T) *bool) property[T] {
	return property[T]{show: func(b []byte, v *T, _ *encoding) []byte { return appendNullableBool(b, at(v)) }}
}

// partsView is how a list of parts shows them: times are there whatever fields=
// says. A field that the version does not have is 400 here.
func partsView(c *call, r *openapi.Resource) (view, error) {
	names, given := c.query.list("fields")
	switch {
	case given && c.query.flag("detail"):
		return nil, badRequest("Can not specify ?detail=True and fields in the same request.")
	case c.query.flag("detail"):
		return detailView(r, c.version), nil
	case !given:
		return listView(r, c.version), nil
	}
	v := view{}
	for _, name := range names {
		f, _, ok := r.Field(name)
		if !ok || !f.VisibleAt(c.version) {
			return nil, badRequest("Field(s) %q are not valid", name)
		}
	}
	for i := range r.Fields {
		name := r.Fields[i].Name
		if name == "created_at" || name == "updated_at" || name == "links" || slices.Contains(names, name) {
			v = append(v, i)
		}
	}
	return v, nil
}

func (s *Service) listBIOS(c *call) error {
	if err := c.query.gate(c.op); err != nil {
		return err
	}
	fields, err := partsView(c, openapi.BIOSSettingFields)
	if err != nil {
		return err
	}
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	settings, err := s.store.BIOSSettings(c.Request().Context(), n.UUID)
	if err != nil {
		return err
	}
	return biosKind.answerList(c, list{fields: fields}, settings)
}

func (s *Service) getBIOS(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	setting, err := s.store.BIOSSetting(c.Request().Context(), n.UUID, c.Param("setting"))
	if err != nil {
		return err
	}
	b := appendString([]byte{'{'}, setting.Name)
	b = biosKind.append(append(b, ':'), &setting, detailView(openapi.BIOSSettingFields, c.version), c.encoding())
	return c.json(http.StatusOK, append(b, '}'))
}

func (s *Service) listFirmware(c *call) error {
	fields, err := partsView(c, openapi.FirmwareComponentFields)
	if err != nil {
		return err
	}
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	components, err := s.store.FirmwareComponents(c.Request().Context(), n.UUID)
	if err != nil {
		return err
	}
	return firmwareKind.answerList(c, list{fields: fields}, components)
}

// getInventory shows what the last inspection found.
func (s *Service) getInventory(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	record, err := s.store.Inventory(c.Request().Context(), n.UUID)
	if err != nil {
		return err
	}
	b := append(make([]byte, 0, 4096), `{"inventory":`...)
	b = append(appendMasked(b, record.Inventory), `,"plugin_data":`...)
	return c.json(http.StatusOK, append(appendMasked(b, record.PluginData), '}'))
}

// nodesOf are the policies on whose nodes a list holds.
var nodesOf = &openapi.Operation{Policies: []string{"baremetal:node:list_all", "baremetal:node:list"}}

// listChildren lists the nodes whose parent the node is.
func (s *Service) listChildren(c *call) error {
	n, err := s.node(c, c.Param("node"))
	if err != nil {
		return err
	}
	q := store.NodeQuery{ParentNode: &n.UUID, IncludeChildren: true, Columns: []string{"uuid"}}
	if q.Project, err = c.rights.project(nodesOf, nil); err != nil {
		return err
	}
	children, err := s.store.Nodes(c.Request().Context(), q)
	if err != nil {
		return err
	}
	uuids := make([]string, len(children))
	for i := range children {
		uuids[i] = children[i].UUID
	}
	b := appendStrings(append(make([]byte, 0, 256), `{"children":`...), uuids)
	b = appendString(append(b, `,"links":{"href":`...), c.base+"/v1/nodes?parent_node="+n.UUID)
	return c.json(http.StatusOK, append(b, `,"rel":"children"}}`...))
}
