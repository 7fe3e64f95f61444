-- Which releases can use the database after a migration: those that know the schema `compatible_from`, and later ones.
-- `release` is the one that ran it.
CREATE TABLE IF NOT EXISTS gateway.migrations (
  version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
ALTER TABLE gateway.migrations ADD COLUMN compatible_from integer, ADD COLUMN release text;
UPDATE gateway.migrations SET compatible_from = version;
