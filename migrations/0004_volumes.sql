-- Remote storage of nodes.

-- +goose Up
CREATE TABLE volume_connectors (
    id           BIGINT NOT NULL PRIMARY KEY,
    uuid         ctext  NOT NULL,
    node_uuid    ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    type         ctext  NOT NULL,
    connector_id ctext  NOT NULL,
    extra        ctext  NOT NULL DEFAULT '{}',
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT,
    version      BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX volume_connectors_uuid ON volume_connectors (uuid);
CREATE UNIQUE INDEX volume_connectors_connector ON volume_connectors (type, connector_id);
CREATE INDEX volume_connectors_node_uuid ON volume_connectors (node_uuid, id);

CREATE TABLE volume_targets (
    id          BIGINT NOT NULL PRIMARY KEY,
    uuid        ctext  NOT NULL,
    node_uuid   ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    volume_type ctext  NOT NULL,
    boot_index  BIGINT NOT NULL,
    volume_id   ctext  NOT NULL,
    properties  ctext  NOT NULL DEFAULT '{}',
    extra       ctext  NOT NULL DEFAULT '{}',
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT,
    version     BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX volume_targets_uuid ON volume_targets (uuid);
CREATE UNIQUE INDEX volume_targets_boot_index ON volume_targets (node_uuid, boot_index);
