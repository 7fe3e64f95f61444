-- Which releases can use the database after a migration: those that know the schema `compatible_from`, and later ones.
-- `release` is the one that ran it. The table is made by the gateway before its first migration.
CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT;
ALTER TABLE migrations ADD COLUMN compatible_from INTEGER;
ALTER TABLE migrations ADD COLUMN release TEXT;
UPDATE migrations SET compatible_from = version;
