-- Unique values that few rows have are kept of those rows alone: a row without
-- one then costs no page of the index at each write. And shards in the order of
-- lists.

-- +goose Up
DROP INDEX nodes_instance_uuid;
CREATE UNIQUE INDEX nodes_instance_uuid ON nodes (instance_uuid) WHERE instance_uuid IS NOT NULL;
DROP INDEX ports_name;
CREATE UNIQUE INDEX ports_name ON ports (name) WHERE name IS NOT NULL;
DROP INDEX allocations_name;
CREATE UNIQUE INDEX allocations_name ON allocations (name) WHERE name IS NOT NULL;
CREATE INDEX nodes_sharded ON nodes (id) WHERE shard IS NOT NULL;
