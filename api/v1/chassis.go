package v1

import (
	"context"
	"net/http"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// chassisKind is the resource of chassis (Ironic: controllers/v1/chassis).
var chassisKind = newResource(resource[metal.Chassis]{
	registry: openapi.ChassisFields, noun: "chassis", path: "chassis", key: "chassis", strict: true,
	listed: []string{"uuid", "description"},
	uuid:   chassisUUID,
	fields: map[string]property[metal.Chassis]{
		"uuid":        uuidProperty(func(c *metal.Chassis) *string { return &c.UUID }),
		"description": textProperty("description", 255, func(c *metal.Chassis) **string { return &c.Description }),
		"extra":       objectProperty("extra", func(c *metal.Chassis) *metal.JSON { return &c.Extra }),
		"created_at":  timeProperty(func(c *metal.Chassis) *time.Time { return &c.CreatedAt }),
		"updated_at":  optionalTimeProperty(func(c *metal.Chassis) **time.Time { return &c.UpdatedAt }),
		"links":       linksProperty(chassisUUID, "chassis"),
		// Ironic has a comma too many here, and clients know it so.
		"nodes": {show: func(b []byte, c *metal.Chassis, e *encoding) []byte {
			return append(appendLinks(append(b, '['), e.base, "chassis", c.UUID, "nodes"), ']')
		}},
	},
})

func chassisUUID(c *metal.Chassis) string { return c.UUID }

func (s *Service) listChassis(c *call) error       { return s.chassisList(c, "chassis", false) }
func (s *Service) listChassisDetail(c *call) error { return s.chassisList(c, "chassis/detail", true) }

func (s *Service) chassisList(c *call, collection string, detailed bool) error {
	l, err := chassisKind.list(s, c, collection, detailed)
	if err != nil {
		return err
	}
	page, err := s.store.ChassisList(c.Request().Context(), l.page)
	if err != nil {
		return err
	}
	return chassisKind.answerList(c, l, page)
}

// chassis finds the chassis that the path names; it has no name.
func (s *Service) chassis(c *call) (metal.Chassis, error) {
	uuid, err := c.uuidOf("chassis")
	if err != nil {
		return metal.Chassis{}, err
	}
	return s.store.Chassis(c.Request().Context(), uuid)
}

func (s *Service) getChassis(c *call) error {
	if _, err := c.uuidOf("chassis"); err != nil {
		return err
	}
	if err := chassisKind.gate(c); err != nil {
		return err
	}
	ch, err := s.chassis(c)
	if err != nil {
		return err
	}
	return chassisKind.answerOne(c, &ch)
}

func (s *Service) createChassis(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	ch := &metal.Chassis{}
	if err := chassisKind.read(ch, body); err != nil {
		return err
	}
	ch.UUID = filledIn(ch.UUID)
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertChassis(ctx, ch)
	})
	if err != nil {
		return err
	}
	return chassisKind.created(c, ch)
}

func (s *Service) updateChassis(c *call) error {
	ops, err := chassisKind.changes(c)
	if err != nil {
		return err
	}
	ch, err := s.chassis(c)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		if ch, err = tx.Chassis(ctx, ch.UUID); err != nil {
			return err
		}
		uuid := ch.UUID
		if err := chassisKind.patch(&ch, ops); err != nil {
			return err
		}
		if ch.UUID != uuid {
			return badRequest("Cannot overwrite UUID for an existing Chassis.")
		}
		return tx.UpdateChassis(ctx, &ch)
	})
	if err != nil {
		return err
	}
	return chassisKind.answer(c, http.StatusOK, &ch)
}

func (s *Service) deleteChassis(c *call) error {
	ch, err := s.chassis(c)
	if err != nil {
		return err
	}
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteChassis(ctx, ch.UUID)
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}

func (s *Service) listChassisNodes(c *call) error {
	if err := c.underChassis(); err != nil {
		return err
	}
	return s.listNodesIn(c, "chassis/"+c.Param("chassis")+"/nodes")
}

func (s *Service) listChassisNodesDetail(c *call) error {
	if err := c.underChassis(); err != nil {
		return err
	}
	return s.listNodesDetailIn(c, "chassis/"+c.Param("chassis")+"/nodes/detail")
}

// underChassis turns the chassis of the path into the filter that it is.
func (c *call) underChassis() error {
	uuid, err := c.uuidOf("chassis")
	if err == nil {
		c.query.raw.Set("chassis_uuid", uuid)
	}
	return err
}

// checkChassisFilter refuses a chassis that is not there.
func (s *Service) checkChassisFilter(c *call) error {
	uuid := c.query.text("chassis_uuid")
	if uuid == nil {
		return nil
	}
	_, err := s.store.Chassis(c.Request().Context(), *uuid)
	return err
}

// enterChassis holds a node to a chassis that is there.
func enterChassis(ctx context.Context, tx *store.Tx, before, n *metal.Node) error {
	if n.ChassisUUID == nil || sameText(before.ChassisUUID, n.ChassisUUID) {
		return nil
	}
	if err := tx.EnterChassis(ctx, *n.ChassisUUID); err != nil {
		return asMissingReference(err)
	}
	return nil
}
