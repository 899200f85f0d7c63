-- Groups of a node's ports.

-- +goose Up
CREATE TABLE portgroups (
    id                         BIGINT  NOT NULL PRIMARY KEY,
    uuid                       ctext   NOT NULL,
    node_uuid                  ctext   NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    name                       ctext,
    address                    ctext,
    mode                       ctext,
    properties                 ctext   NOT NULL DEFAULT '{}',
    standalone_ports_supported BOOLEAN NOT NULL DEFAULT TRUE,
    physical_network           ctext,
    category                   ctext,
    dynamic_portgroup          BOOLEAN NOT NULL DEFAULT FALSE,
    extra                      ctext   NOT NULL DEFAULT '{}',
    internal_info              ctext   NOT NULL DEFAULT '{}',
    created_at                 BIGINT  NOT NULL,
    updated_at                 BIGINT,
    version                    BIGINT  NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX portgroups_uuid ON portgroups (uuid);
CREATE UNIQUE INDEX portgroups_name ON portgroups (name);
CREATE UNIQUE INDEX portgroups_address ON portgroups (address);
CREATE INDEX portgroups_node_uuid ON portgroups (node_uuid, id);
