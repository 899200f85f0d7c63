-- An agent is alive as long as the process is that holds its session, so that
-- only processes need to give signs of life, and not each agent.

-- +goose Up
ALTER TABLE conductors ADD COLUMN through ctext NOT NULL DEFAULT '';
