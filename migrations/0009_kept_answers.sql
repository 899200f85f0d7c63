-- +goose Up
-- What was answered to requests that came with an Idempotency-Key. The id is a
-- hash of caller and key; the answer, and what it answered, are sealed.
CREATE TABLE kept_answers (
    id         ctext  NOT NULL PRIMARY KEY,
    sealed     ctext  NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX kept_answers_created_at ON kept_answers (created_at);
