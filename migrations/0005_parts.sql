-- What was last read of a node's BIOS and firmware.

-- +goose Up
CREATE TABLE bios_settings (
    node_uuid        ctext   NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    name             ctext   NOT NULL,
    value            ctext,
    attribute_type   ctext,
    allowable_values ctext   NOT NULL DEFAULT '[]',
    lower_bound      BIGINT,
    upper_bound      BIGINT,
    min_length       BIGINT,
    max_length       BIGINT,
    read_only        BOOLEAN,
    reset_required   BOOLEAN,
    is_unique        BOOLEAN,
    created_at       BIGINT  NOT NULL,
    updated_at       BIGINT,
    PRIMARY KEY (node_uuid, name)
);

CREATE TABLE firmware_components (
    node_uuid            ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    component            ctext  NOT NULL,
    initial_version      ctext,
    current_version      ctext,
    last_version_flashed ctext,
    vendor               ctext,
    model                ctext,
    serial_number        ctext,
    created_at           BIGINT NOT NULL,
    updated_at           BIGINT,
    PRIMARY KEY (node_uuid, component)
);
