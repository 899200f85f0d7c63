-- An entry of the inbox that fails again and again is handled alone, and at last
-- set aside, so that those behind it are handled. It is kept here for a look.

-- +goose Up
ALTER TABLE inbox ADD COLUMN failures BIGINT NOT NULL DEFAULT 0;
CREATE TABLE stuck_entries (
    id           BIGINT NOT NULL PRIMARY KEY,
    node_uuid    ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    operation_id ctext  NOT NULL DEFAULT '',
    kind         ctext  NOT NULL,
    payload      ctext  NOT NULL DEFAULT '',
    cause        ctext  NOT NULL,
    created_at   BIGINT NOT NULL,
    stuck_at     BIGINT NOT NULL
);
CREATE INDEX stuck_entries_node_uuid ON stuck_entries (node_uuid, id);
