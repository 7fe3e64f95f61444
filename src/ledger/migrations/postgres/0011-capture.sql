-- For how many days the content of a key's requests is kept; null: it is not. What reads it is in functions.sql.
ALTER TABLE gateway.accounts ADD COLUMN capture_days bigint CHECK (capture_days >= 1);
