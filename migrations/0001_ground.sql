-- The tables of the domain. One text for both engines: ctext is text that
-- compares bytewise (a domain on PostgreSQL, plain TEXT affinity on SQLite),
-- times are microseconds since 1970 in UTC, JSON is text, keys are made by the
-- program.

-- +goose Up
CREATE TABLE nodes (
    id                     BIGINT  NOT NULL PRIMARY KEY,
    uuid                   ctext   NOT NULL,
    name                   ctext,
    power_state            ctext,
    target_power_state     ctext,
    provision_state        ctext   NOT NULL,
    target_provision_state ctext,
    provision_updated_at   BIGINT,
    last_error             ctext,
    reservation            ctext,
    maintenance            BOOLEAN NOT NULL DEFAULT FALSE,
    maintenance_reason     ctext,
    fault                  ctext,
    health                 ctext,
    driver                 ctext   NOT NULL,
    bios_interface         ctext   NOT NULL DEFAULT '',
    boot_interface         ctext   NOT NULL DEFAULT '',
    console_interface      ctext   NOT NULL DEFAULT '',
    deploy_interface       ctext   NOT NULL DEFAULT '',
    firmware_interface     ctext   NOT NULL DEFAULT '',
    inspect_interface      ctext   NOT NULL DEFAULT '',
    management_interface   ctext   NOT NULL DEFAULT '',
    network_interface      ctext   NOT NULL DEFAULT '',
    power_interface        ctext   NOT NULL DEFAULT '',
    raid_interface         ctext   NOT NULL DEFAULT '',
    rescue_interface       ctext   NOT NULL DEFAULT '',
    storage_interface      ctext   NOT NULL DEFAULT '',
    vendor_interface       ctext   NOT NULL DEFAULT '',
    driver_info            ctext   NOT NULL DEFAULT '{}',
    driver_internal_info   ctext   NOT NULL DEFAULT '{}',
    properties             ctext   NOT NULL DEFAULT '{}',
    extra                  ctext   NOT NULL DEFAULT '{}',
    instance_info          ctext   NOT NULL DEFAULT '{}',
    raid_config            ctext   NOT NULL DEFAULT '{}',
    target_raid_config     ctext   NOT NULL DEFAULT '{}',
    clean_step             ctext   NOT NULL DEFAULT '{}',
    deploy_step            ctext   NOT NULL DEFAULT '{}',
    service_step           ctext   NOT NULL DEFAULT '{}',
    network_data           ctext   NOT NULL DEFAULT '{}',
    traits                 ctext   NOT NULL DEFAULT '[]',
    instance_uuid          ctext,
    instance_name          ctext,
    chassis_uuid           ctext,
    allocation_uuid        ctext,
    parent_node            ctext,
    resource_class         ctext,
    conductor_group        ctext   NOT NULL DEFAULT '',
    owner                  ctext,
    lessee                 ctext,
    shard                  ctext,
    description            ctext,
    automated_clean        BOOLEAN,
    protected              BOOLEAN NOT NULL DEFAULT FALSE,
    protected_reason       ctext,
    retired                BOOLEAN NOT NULL DEFAULT FALSE,
    retired_reason         ctext,
    console_enabled        BOOLEAN NOT NULL DEFAULT FALSE,
    boot_mode              ctext,
    secure_boot            BOOLEAN,
    disable_power_off      BOOLEAN NOT NULL DEFAULT FALSE,
    inspection_started_at  BIGINT,
    inspection_finished_at BIGINT,
    created_at             BIGINT  NOT NULL,
    updated_at             BIGINT,
    version                BIGINT  NOT NULL DEFAULT 1,
    wake                   BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE UNIQUE INDEX nodes_uuid ON nodes (uuid);
CREATE UNIQUE INDEX nodes_name ON nodes (name);
CREATE UNIQUE INDEX nodes_instance_uuid ON nodes (instance_uuid);
CREATE INDEX nodes_provision_state ON nodes (provision_state, id);
CREATE INDEX nodes_driver ON nodes (driver, id);
CREATE INDEX nodes_resource_class ON nodes (resource_class, id);
CREATE INDEX nodes_conductor_group ON nodes (conductor_group, id);
CREATE INDEX nodes_owner ON nodes (owner, id) WHERE owner IS NOT NULL;
CREATE INDEX nodes_lessee ON nodes (lessee, id) WHERE lessee IS NOT NULL;
CREATE INDEX nodes_shard ON nodes (shard, id) WHERE shard IS NOT NULL;
CREATE INDEX nodes_parent_node ON nodes (parent_node, id) WHERE parent_node IS NOT NULL;
CREATE INDEX nodes_chassis_uuid ON nodes (chassis_uuid, id) WHERE chassis_uuid IS NOT NULL;
CREATE INDEX nodes_instance_name ON nodes (instance_name, id) WHERE instance_name IS NOT NULL;
CREATE INDEX nodes_fault ON nodes (fault, id) WHERE fault IS NOT NULL;
CREATE INDEX nodes_associated ON nodes (id) WHERE instance_uuid IS NOT NULL;
CREATE INDEX nodes_reserved ON nodes (id) WHERE reservation IS NOT NULL;
CREATE INDEX nodes_maintenance ON nodes (id) WHERE maintenance;
CREATE INDEX nodes_retired ON nodes (id) WHERE retired;

CREATE TABLE ports (
    id                              BIGINT  NOT NULL PRIMARY KEY,
    uuid                            ctext   NOT NULL,
    node_uuid                       ctext   NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    address                         ctext   NOT NULL,
    name                            ctext,
    description                     ctext,
    vendor                          ctext,
    category                        ctext,
    extra                           ctext   NOT NULL DEFAULT '{}',
    internal_info                   ctext   NOT NULL DEFAULT '{}',
    local_link_connection           ctext   NOT NULL DEFAULT '{}',
    pxe_enabled                     BOOLEAN NOT NULL DEFAULT TRUE,
    portgroup_uuid                  ctext,
    physical_network                ctext,
    is_smartnic                     BOOLEAN NOT NULL DEFAULT FALSE,
    available_for_dynamic_portgroup BOOLEAN NOT NULL DEFAULT TRUE,
    created_at                      BIGINT  NOT NULL,
    updated_at                      BIGINT,
    version                         BIGINT  NOT NULL DEFAULT 1
);
CREATE UNIQUE INDEX ports_uuid ON ports (uuid);
CREATE UNIQUE INDEX ports_address ON ports (address);
CREATE UNIQUE INDEX ports_name ON ports (name);
CREATE INDEX ports_node_uuid ON ports (node_uuid, id);
CREATE INDEX ports_portgroup_uuid ON ports (portgroup_uuid, id) WHERE portgroup_uuid IS NOT NULL;

CREATE TABLE conductors (
    id              BIGINT  NOT NULL PRIMARY KEY,
    hostname        ctext   NOT NULL,
    conductor_group ctext   NOT NULL DEFAULT '',
    drivers         ctext   NOT NULL DEFAULT '[]',
    agent_id        ctext   NOT NULL DEFAULT '',
    online          BOOLEAN NOT NULL DEFAULT FALSE,
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT  NOT NULL
);
CREATE UNIQUE INDEX conductors_hostname ON conductors (hostname);

-- What a node is doing: at most one open operation per node and axis.
CREATE TABLE operations (
    id          ctext  NOT NULL PRIMARY KEY,
    node_uuid   ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    axis        ctext  NOT NULL,
    verb        ctext  NOT NULL,
    args        ctext  NOT NULL DEFAULT '',
    plan        ctext  NOT NULL DEFAULT '',
    deadline    BIGINT,
    request_id  ctext  NOT NULL DEFAULT '',
    user_id     ctext,
    project_id  ctext,
    started_at  BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE UNIQUE INDEX operations_open ON operations (node_uuid, axis) WHERE finished_at IS NULL;
CREATE INDEX operations_deadline ON operations (deadline) WHERE finished_at IS NULL;
CREATE INDEX operations_node_uuid ON operations (node_uuid, started_at);

-- Events that wait for the node's next advance, which deletes them.
CREATE TABLE inbox (
    id         BIGINT NOT NULL PRIMARY KEY,
    node_uuid  ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    kind       ctext  NOT NULL,
    payload    ctext  NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL
);
CREATE INDEX inbox_node_uuid ON inbox (node_uuid, id);

CREATE TABLE commands (
    id           ctext  NOT NULL PRIMARY KEY,
    seq          BIGINT NOT NULL,
    node_uuid    ctext  REFERENCES nodes (uuid) ON DELETE CASCADE,
    operation_id ctext  NOT NULL DEFAULT '',
    agent_id     ctext  NOT NULL,
    kind         ctext  NOT NULL,
    operation    ctext  NOT NULL,
    envelope     ctext  NOT NULL,
    status       ctext  NOT NULL,
    result       ctext  NOT NULL DEFAULT '',
    proof        ctext  NOT NULL DEFAULT '', -- the envelope in which the agent attested the result
    issued_at    BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    finished_at  BIGINT
);
CREATE UNIQUE INDEX commands_seq ON commands (agent_id, seq);
CREATE INDEX commands_pending ON commands (agent_id, seq) WHERE finished_at IS NULL;
CREATE INDEX commands_node_uuid ON commands (node_uuid, issued_at);
CREATE INDEX commands_finished_at ON commands (finished_at) WHERE finished_at IS NOT NULL;

-- Numbers an agent's commands in the order of their commits, so that a resume
-- cursor never passes one by.
CREATE TABLE command_sequences (
    agent_id ctext  NOT NULL PRIMARY KEY,
    seq      BIGINT NOT NULL
);

CREATE TABLE node_history (
    id                     BIGINT NOT NULL PRIMARY KEY,
    uuid                   ctext  NOT NULL,
    node_uuid              ctext  NOT NULL REFERENCES nodes (uuid) ON DELETE CASCADE,
    severity               ctext  NOT NULL,
    event_type             ctext  NOT NULL,
    event                  ctext  NOT NULL,
    conductor              ctext  NOT NULL DEFAULT '',
    user_id                ctext,
    project_id             ctext,
    state                  ctext,
    target_provision_state ctext,
    duration_seconds       BIGINT,
    created_at             BIGINT NOT NULL
);
CREATE UNIQUE INDEX node_history_uuid ON node_history (uuid);
CREATE INDEX node_history_node_uuid ON node_history (node_uuid, created_at);

CREATE TABLE node_inventory (
    node_uuid   ctext  NOT NULL PRIMARY KEY REFERENCES nodes (uuid) ON DELETE CASCADE,
    inventory   ctext  NOT NULL DEFAULT '',
    plugin_data ctext  NOT NULL DEFAULT '',
    created_at  BIGINT NOT NULL
);

CREATE TABLE secret_refs (
    ref        ctext  NOT NULL PRIMARY KEY,
    scope      ctext  NOT NULL,
    node_uuid  ctext  REFERENCES nodes (uuid) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX secret_refs_node_uuid ON secret_refs (node_uuid) WHERE node_uuid IS NOT NULL;

CREATE TABLE sealed_secrets (
    ref        ctext  NOT NULL REFERENCES secret_refs (ref) ON DELETE CASCADE,
    version    BIGINT NOT NULL,
    state      ctext  NOT NULL,
    sealed     ctext  NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (ref, version)
);
CREATE UNIQUE INDEX sealed_secrets_current ON sealed_secrets (ref) WHERE state = 'current';
CREATE UNIQUE INDEX sealed_secrets_pending ON sealed_secrets (ref) WHERE state = 'pending';

CREATE TABLE sites (
    name       ctext  NOT NULL PRIMARY KEY,
    labels     ctext  NOT NULL DEFAULT '{}',
    created_at BIGINT NOT NULL
);

CREATE TABLE agents (
    id             ctext  NOT NULL PRIMARY KEY,
    site           ctext  NOT NULL,
    hostname       ctext  NOT NULL DEFAULT '',
    software       ctext  NOT NULL DEFAULT '',
    labels         ctext  NOT NULL DEFAULT '{}',
    hardware_types ctext  NOT NULL DEFAULT '[]',
    operations     ctext  NOT NULL DEFAULT '{}',
    session_id     ctext  NOT NULL DEFAULT '',
    created_at     BIGINT NOT NULL,
    last_seen_at   BIGINT,
    revoked_at     BIGINT
);
CREATE INDEX agents_site ON agents (site, created_at);

-- Certificates in force, in the order in which they were issued.
CREATE TABLE agent_keys (
    id         BIGINT NOT NULL PRIMARY KEY,
    agent_id   ctext  NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    key_hash   ctext  NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX agent_keys_hash ON agent_keys (agent_id, key_hash);

CREATE TABLE join_codes (
    id          ctext  NOT NULL PRIMARY KEY,
    secret_hash ctext  NOT NULL,
    site        ctext  NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    used_at     BIGINT,
    key_hash    ctext  NOT NULL DEFAULT '',
    agent_id    ctext  NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX join_codes_secret_hash ON join_codes (secret_hash);

-- Requests for secrets that were answered, so that none is answered twice.
CREATE TABLE secret_requests (
    agent_id   ctext  NOT NULL,
    request_id ctext  NOT NULL,
    until      BIGINT NOT NULL,
    PRIMARY KEY (agent_id, request_id)
);
CREATE INDEX secret_requests_until ON secret_requests (until);

CREATE TABLE trust_keys (
    name           ctext  NOT NULL PRIMARY KEY,
    sealed_private ctext  NOT NULL,
    public         ctext  NOT NULL,
    created_at     BIGINT NOT NULL
);
