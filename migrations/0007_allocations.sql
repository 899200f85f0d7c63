-- Allocations, and the nodes that they find: those of one class lie together,
-- in no order that anybody would choose by.

-- +goose Up
CREATE TABLE allocations (
    id              BIGINT NOT NULL PRIMARY KEY,
    uuid            ctext  NOT NULL,
    name            ctext,
    resource_class  ctext,
    node_uuid       ctext  REFERENCES nodes (uuid) ON DELETE CASCADE,
    candidate_nodes ctext  NOT NULL DEFAULT '[]',
    traits          ctext  NOT NULL DEFAULT '[]',
    extra           ctext  NOT NULL DEFAULT '{}',
    state           ctext  NOT NULL,
    last_error      ctext,
    owner           ctext,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT,
    version         BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX allocations_uuid ON allocations (uuid);
CREATE UNIQUE INDEX allocations_name ON allocations (name);
CREATE INDEX allocations_node_uuid ON allocations (node_uuid) WHERE node_uuid IS NOT NULL;
CREATE INDEX allocations_resource_class ON allocations (resource_class, id);
CREATE INDEX allocations_state ON allocations (state, id);
CREATE INDEX allocations_owner ON allocations (owner, id) WHERE owner IS NOT NULL;

CREATE INDEX nodes_free ON nodes (resource_class, uuid)
    WHERE provision_state = 'available' AND instance_uuid IS NULL AND NOT maintenance;
