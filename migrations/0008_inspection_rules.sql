-- +goose Up
CREATE TABLE inspection_rules (
    id          BIGINT  NOT NULL PRIMARY KEY,
    uuid        ctext   NOT NULL,
    description ctext,
    priority    BIGINT  NOT NULL DEFAULT 0,
    phase       ctext   NOT NULL,
    sensitive   BOOLEAN NOT NULL DEFAULT FALSE,
    actions     ctext   NOT NULL,
    conditions  ctext   NOT NULL,
    created_at  BIGINT  NOT NULL,
    updated_at  BIGINT,
    version     BIGINT  NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX inspection_rules_uuid ON inspection_rules (uuid);
