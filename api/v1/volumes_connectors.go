package v1

import (
	"context"
	"net/http"
	"time"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
)

// connectors is the resource of volume connectors (Ironic:
// controllers/v1/volume_connector).
var connectors = newResource(resource[metal.VolumeConnector]{
	registry: openapi.VolumeConnectorFields, noun: "connector", enum: true, path: "volume/connectors", key: "connectors",
	required: []string{"connector_id", "node_uuid", "type"}, listed: []string{"uuid", "node_uuid", "type", "connector_id"},
	uuid: connectorUUID,
	fields: map[string]property[metal.VolumeConnector]{
		"uuid":         uuidProperty(func(v *metal.VolumeConnector) *string { return &v.UUID }),
		"node_uuid":    nodeProperty(func(v *metal.VolumeConnector) *string { return &v.NodeUUID }),
		"type":         wordProperty("type", func(v *metal.VolumeConnector) *string { return &v.Type }),
		"connector_id": wordProperty("connector_id", func(v *metal.VolumeConnector) *string { return &v.ConnectorID }),
		"extra":        objectProperty("extra", func(v *metal.VolumeConnector) *metal.JSON { return &v.Extra }),
		"created_at":   timeProperty(func(v *metal.VolumeConnector) *time.Time { return &v.CreatedAt }),
		"updated_at":   optionalTimeProperty(func(v *metal.VolumeConnector) **time.Time { return &v.UpdatedAt }),
		"links":        linksProperty(connectorUUID, "volume/connectors"),
	},
})

func connectorUUID(v *metal.VolumeConnector) string { return v.UUID }

func (s *Service) listConnectors(c *call) error {
	return s.connectorList(c, connectors.path, false)
}

func (s *Service) listNodeConnectors(c *call) error {
	return s.connectorList(c, "nodes/"+c.Param("node")+"/"+connectors.path, true)
}

func (s *Service) connectorList(c *call, collection string, under bool) error {
	l, err := connectors.list(s, c, collection, false)
	if err != nil {
		return err
	}
	q, err := s.volumeQuery(c, l, under)
	if err != nil {
		return err
	}
	page, err := s.store.VolumeConnectors(c.Request().Context(), q)
	if err != nil {
		return err
	}
	return connectors.answerList(c, l, page)
}

// connector finds the connector that the path names; it has no name.
func (s *Service) connector(c *call) (metal.VolumeConnector, error) {
	uuid, err := c.uuidOf("connector")
	if err != nil {
		return metal.VolumeConnector{}, err
	}
	v, err := s.store.VolumeConnector(c.Request().Context(), uuid)
	if err != nil {
		return v, err
	}
	return v, s.authorizePart(c, v.NodeUUID, "Volume connector", uuid)
}

func (s *Service) getConnector(c *call) error {
	v, err := s.connector(c)
	if err != nil {
		return err
	}
	return connectors.answerOne(c, &v)
}

func (s *Service) createConnector(c *call) error {
	body, err := decodeObject(c.raw)
	if err != nil {
		return err
	}
	v := &metal.VolumeConnector{}
	if err := connectors.read(v, body); err != nil {
		return err
	}
	if err := s.checkPartNode(c, v.NodeUUID); err != nil {
		return err
	}
	v.UUID = filledIn(v.UUID)
	err = s.store.Write(c.Request().Context(), func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertVolumeConnector(ctx, v)
	})
	if err != nil {
		return err
	}
	return connectors.created(c, v)
}

func (s *Service) updateConnector(c *call) error {
	ops, err := parsePatch(c.raw, c.version)
	if err != nil {
		return err
	}
	v, err := s.connector(c)
	if err != nil {
		return err
	}
	if err := checkRoots(ops, connectors.registry); err != nil {
		return err
	}
	to, err := movedTo(ops, v.NodeUUID)
	if err != nil {
		return err
	}
	trial := v
	if err := connectors.patch(&trial, ops); err != nil {
		return err
	}
	from := v.NodeUUID
	err = s.changeVolume(c, "volume connector", from, to, func(ctx context.Context, tx *store.Tx) error {
		if v, err = tx.VolumeConnector(ctx, v.UUID); err != nil {
			return err
		}
		if err := connectors.patch(&v, ops); err != nil {
			return err
		}
		return tx.UpdateVolumeConnector(ctx, &v)
	})
	if err != nil {
		return unknownNode(err, from, to)
	}
	return connectors.answer(c, http.StatusOK, &v)
}

func (s *Service) deleteConnector(c *call) error {
	v, err := s.connector(c)
	if err != nil {
		return err
	}
	err = s.releaseVolume(c, "volume connector", v.NodeUUID, func(ctx context.Context, tx *store.Tx) error {
		return tx.DeleteVolumeConnector(ctx, v.UUID)
	})
	if err != nil {
		return err
	}
	return c.empty(http.StatusNoContent)
}
