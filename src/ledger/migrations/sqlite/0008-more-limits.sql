-- More limits of keys and of accounts: tokens per minute, parallel requests, the largest output, and where requests may come
-- from; of accounts also the models. For a key, `models` may have patterns from now on.
ALTER TABLE keys ADD COLUMN tpm_limit INTEGER CHECK (tpm_limit >= 1);
ALTER TABLE keys ADD COLUMN parallel_limit INTEGER CHECK (parallel_limit >= 1);
ALTER TABLE keys ADD COLUMN output_limit INTEGER CHECK (output_limit >= 1);
-- A JSON array of addresses and ranges; null means all.
ALTER TABLE keys ADD COLUMN addresses TEXT;
-- A JSON array of what the accounts above the key allow, copied from them; null where they allow everything.
ALTER TABLE keys ADD COLUMN inherited TEXT;

ALTER TABLE tree_accounts ADD COLUMN tpm_limit INTEGER CHECK (tpm_limit >= 1);
ALTER TABLE tree_accounts ADD COLUMN parallel_limit INTEGER CHECK (parallel_limit >= 1);
ALTER TABLE tree_accounts ADD COLUMN models TEXT;
ALTER TABLE tree_accounts ADD COLUMN output_limit INTEGER CHECK (output_limit >= 1);
ALTER TABLE tree_accounts ADD COLUMN addresses TEXT;

-- As `rates`, for limits on tokens per minute.
CREATE TABLE token_rates (
  key_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  times TEXT NOT NULL,
  -- A JSON array: how many tokens were counted at each of the times.
  tokens TEXT NOT NULL,
  newest_ms INTEGER NOT NULL,
  PRIMARY KEY (key_id, number)
) STRICT, WITHOUT ROWID;
