-- A command gets its number when it is handed to its agent's stream, not when it
-- is inserted: transactions of different nodes have no row in common.

-- +goose Up
DROP INDEX commands_seq;
CREATE UNIQUE INDEX commands_seq ON commands (agent_id, seq) WHERE seq > 0;
