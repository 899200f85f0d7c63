-- +goose Up
CREATE TABLE chassis (
    id          BIGINT NOT NULL PRIMARY KEY,
    uuid        ctext  NOT NULL,
    description ctext,
    extra       ctext  NOT NULL DEFAULT '{}',
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT,
    version     BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX chassis_uuid ON chassis (uuid);
