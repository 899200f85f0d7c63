-- Lists of steps that are kept by name.

-- +goose Up
CREATE TABLE deploy_templates (
    id         BIGINT NOT NULL PRIMARY KEY,
    uuid       ctext  NOT NULL,
    name       ctext  NOT NULL,
    steps      ctext  NOT NULL,
    extra      ctext  NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL,
    updated_at BIGINT,
    version    BIGINT NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX deploy_templates_uuid ON deploy_templates (uuid);
CREATE UNIQUE INDEX deploy_templates_name ON deploy_templates (name);

CREATE TABLE runbooks (
    id              BIGINT  NOT NULL PRIMARY KEY,
    uuid            ctext   NOT NULL,
    name            ctext   NOT NULL,
    description     ctext,
    steps           ctext   NOT NULL,
    traits          ctext   NOT NULL DEFAULT '[]',
    disable_ramdisk BOOLEAN NOT NULL DEFAULT FALSE,
    public          BOOLEAN NOT NULL DEFAULT FALSE,
    owner           ctext,
    extra           ctext   NOT NULL DEFAULT '{}',
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT,
    version         BIGINT  NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX runbooks_uuid ON runbooks (uuid);
CREATE UNIQUE INDEX runbooks_name ON runbooks (name);
CREATE INDEX runbooks_owner ON runbooks (owner, id) WHERE owner IS NOT NULL;
