-- For how many days the content of a key's requests is kept; null: it is not.
ALTER TABLE keys ADD COLUMN capture_days INTEGER CHECK (capture_days >= 1);
