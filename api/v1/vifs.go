package v1

import "net/http"

// listVIFs, attachVIF and detachVIF: no network interface that is built in
// keeps virtual interfaces; as with Ironic's noop they are taken and forgotten.
func (s *Service) listVIFs(c *call) error {
	if _, err := s.servedNode(c, http.StatusBadRequest); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"vifs": []any{}})
}

func (s *Service) attachVIF(c *call) error {
	v, err := decode(c.raw)
	if err != nil {
		return err
	}
	vif, ok := v.(map[string]any)
	if !ok {
		return badRequest("Expected an object for the VIF")
	}
	id, ok := vif["id"].(string)
	if !ok {
		return badRequest("A VIF needs an id, which is a text")
	}
	if !isIdent(id) {
		return badRequest("Expected UUID or name for id: %s", id)
	}
	n, err := s.servedNode(c, http.StatusBadRequest)
	if err != nil {
		return err
	}
	_, port := vif["port_uuid"]
	_, group := vif["portgroup_uuid"]
	if c.version >= c.op.Arg("port_uuid").Min && port && group {
		return badRequest("Cannot specify both port_uuid and portgroup_uuid")
	}
	if err := s.waitUntilFree(c.Request().Context(), n.UUID); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (s *Service) detachVIF(c *call) error {
	if id := c.Param("vif"); !isIdent(id) {
		return badRequest("Expected UUID or name for vif_id: %s", id)
	}
	n, err := s.servedNode(c, http.StatusBadRequest)
	if err != nil {
		return err
	}
	if err := s.waitUntilFree(c.Request().Context(), n.UUID); err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
